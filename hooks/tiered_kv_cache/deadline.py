"""One deadline for a whole run, handed down to everything that can wait."""

from __future__ import annotations

import time
from collections.abc import Callable


class DeadlinePassed(Exception):
    """The run's time is used up. The message says what was going on."""


class Deadline:
    """A point in time that all waits of a run share.

    ``seconds``: the budget from now on. ``clock`` and ``sleep`` are replaced in tests.
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._start = clock()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.seconds - self.elapsed())

    def within(self, seconds: float) -> Deadline:
        """A shorter deadline that never outlives this one."""
        return Deadline(min(seconds, self.remaining()), self._clock, self._sleep)

    def passed(self) -> bool:
        """True when nothing is left."""
        return self.remaining() <= 0

    def check(self, doing: str) -> None:
        """Raise DeadlinePassed, naming what was going on, when nothing is left."""
        if self.passed():
            raise DeadlinePassed(f"the deadline of {self.seconds:g} s passed while {doing}")

    def timeout(self, at_most: float) -> float:
        """A timeout in seconds for one call: ``at_most``, or what is left; never 0, which some clients read as none."""
        return max(0.05, min(at_most, self.remaining()))

    def sleep(self, seconds: float) -> None:
        """Sleep, but never past the deadline."""
        self._sleep(min(seconds, self.remaining()))
