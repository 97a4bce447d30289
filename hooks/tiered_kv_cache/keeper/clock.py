"""One clock: that of the filesystem, read from the time of a file written there. Pods' clocks differ."""

from __future__ import annotations

import time
from collections.abc import Callable

JUMP_SECONDS = 300.0
STEADY_READINGS = 3


class Clock:
    """Seconds of the filesystem, as of the last reading. ``steady`` is false after a jump, until it goes on evenly.

    While it is not steady nothing is removed for its age: a clock set ahead would let everything expire at once.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last: tuple[float, float] | None = None
        self._even = STEADY_READINGS
        self.jumps = 0

    def read(self, seconds: float) -> None:
        """The time of a file that was just written."""
        here = self._monotonic()
        if self._last is not None:
            if abs((seconds - self._last[0]) - (here - self._last[1])) > JUMP_SECONDS:
                self.jumps += 1
                self._even = 0
            else:
                self._even += 1
        self._last = (seconds, here)

    def guess(self, seconds: float) -> None:
        """A time of elsewhere, where the filesystem's cannot be had: good for order, not for ages. Nothing after a reading."""
        if self._last is None:
            self._last, self._even = (seconds, self._monotonic()), 0

    @property
    def steady(self) -> bool:
        """Ages can be trusted."""
        return self._last is not None and self._even >= STEADY_READINGS

    def now(self) -> int:
        """Whole seconds since the epoch. Needs a reading before."""
        return int(self.exact())

    def exact(self) -> float:
        """The same with its fraction."""
        assert self._last is not None
        return self._last[0] + self._monotonic() - self._last[1]
