"""How fast the keeper may ask the volume, so that engines do not notice it."""

from __future__ import annotations

import time
from collections.abc import Callable

BURST_SECONDS = 0.1
LONGEST_SLEEP = 0.5


class Pace:
    """At most ``per_second`` operations a second, 0 for no limit. ``alive`` is called while waiting and may raise."""

    def __init__(
        self,
        per_second: float,
        alive: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.per_second = per_second
        self.spent = 0
        """Operations so far."""
        self._alive, self._clock, self._sleep = alive, clock, sleep
        self._free_at = clock()

    def spend(self, operations: int = 1) -> None:
        """Count operations that were just done, and wait as long as they may take."""
        self.spent += operations
        if self.per_second <= 0:
            return
        now = self._clock()
        self._free_at = max(self._free_at, now - BURST_SECONDS) + operations / self.per_second
        while (left := self._free_at - now) > 0:
            self._alive()
            self._sleep(min(left, LONGEST_SLEEP))
            now = self._clock()
