"""Waiting for something of AWS to settle, told as it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..deadline import Deadline, DeadlinePassed
from ..findings import Finding
from .api import Say

T = TypeVar("T")
POLL_SECONDS = 15.0


def until(
    look: Callable[[], T], done: Callable[[T], bool], state: Callable[[T], str], deadline: Deadline, say: Say
) -> T:
    """``look`` again and again until ``done``; ``state``: for people. Raises AwsError, DeadlinePassed."""
    told = ""
    while True:
        found = look()
        if done(found):
            return found
        if state(found) != told:
            told = state(found)
            say(told)
        deadline.sleep(POLL_SECONDS)
        deadline.check(f"waiting: {told}")


def late(err: DeadlinePassed) -> Finding:
    """The time was up."""
    fix = "AWS goes on by itself: run this again, which goes on from there; or raise hooks.aws.deadlineSeconds and helm --timeout"
    return Finding(str(err), fix)
