"""Counters lag behind the answer that moves them: wait until they show it."""

from __future__ import annotations

from collections.abc import Callable

from ..deadline import Deadline
from ..metrics import Counters

RESTARTED = "a counter fell, so vLLM or LMCache restarted during the test"


class Restarted(Exception):
    """A counter fell: a process of the Pod restarted in the middle of a measurement."""


def settled(
    counters: Callable[[], Counters],
    before: Counters,
    tokens: float,
    enough: Callable[[Counters], bool],
    *,
    wait: Deadline,
    poll: float,
) -> Counters:
    """What moved since ``before``, once it shows ``tokens`` prompt tokens and ``enough``, or at the end of ``wait``.

    ``poll``: seconds between two looks. Raises Restarted, and what ``counters`` raises.
    """
    while True:
        moved = counters().since(before)
        if moved.went_back():
            raise Restarted(RESTARTED)
        if (moved.prompt >= tokens and enough(moved)) or wait.passed():
            return moved
        wait.sleep(poll)
