"""A circuit breaker: when the filesystem fails or hangs, nobody waits for it; a probe in the background closes it again."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

REOPENED_SECONDS = 60.0
"""A breaker that opens again this soon after it closed is probed at longer intervals."""


class Breaker:
    """Open or closed, and why. ``is_open`` is read without a lock, on every request's path.

    It opens at once by ``trip``, or by ``failed`` once ``errors`` failures lie within ``window`` seconds and make up half of
    all outcomes there. Only ``close`` closes it, called by the probe.
    """

    def __init__(
        self,
        name: str,
        *,
        errors: int,
        window: float,
        probe_interval: float,
        longest_interval: float,
        on_open: Callable[[str, str], None] = lambda name, cause: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.is_open = False
        self.cause = ""
        self.opened = threading.Event()
        self._errors, self._window, self._clock, self._on_open = errors, window, clock, on_open
        self._interval, self._shortest, self._longest = probe_interval, probe_interval, longest_interval
        self._closed_at = float("-inf")
        self._lock = threading.Lock()
        # (time, failed); bounded, so that a burst of good answers does not hide failures for long.
        self._outcomes: deque[tuple[float, bool]] = deque(maxlen=max(64, 4 * errors))

    @property
    def probe_interval(self) -> float:
        """Seconds until the next probe."""
        return self._interval

    def ok(self) -> None:
        """An answer came, whatever it said."""
        self._outcomes.append((self._clock(), False))

    def failed(self, cause: str) -> None:
        """An error of the filesystem, not of one file's content."""
        now = self._clock()
        with self._lock:
            self._outcomes.append((now, True))
            recent = [bad for when, bad in list(self._outcomes) if now - when <= self._window]
            if sum(recent) < self._errors or 2 * sum(recent) < len(recent):
                return
        self.trip(cause)

    def trip(self, cause: str) -> None:
        """Open now."""
        with self._lock:
            if self.is_open:
                return
            again = self._clock() - self._closed_at < REOPENED_SECONDS
            self._interval = min(self._interval * 2, self._longest) if again else self._shortest
            self.cause = cause
            self.is_open = True
        self.opened.set()
        self._on_open(self.name, cause)

    def close(self) -> None:
        """The probe succeeded."""
        with self._lock:
            self._outcomes.clear()
            self.is_open = False
            self._closed_at = self._clock()
        self.opened.clear()
