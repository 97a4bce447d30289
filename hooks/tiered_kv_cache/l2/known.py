"""What is known of objects without asking the filesystem, bounded in number and time."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence


class Known:
    """Names that are known for ``seconds`` at most; beyond ``limit`` the oldest is forgotten."""

    def __init__(self, seconds: float, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._limit, self._clock = seconds, limit, clock
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, *names: str) -> None:
        """Remember ``names`` from now on."""
        if self._seconds <= 0:
            return
        until = self._clock() + self._seconds
        with self._lock:
            for name in names:
                self._until.pop(name, None)  # To the end: the order is that of age.
                self._until[name] = until
            while len(self._until) > self._limit:
                del self._until[next(iter(self._until))]

    def forget(self, name: str) -> None:
        """No longer known."""
        self._until.pop(name, None)

    def clear(self) -> None:
        """Nothing is known any more."""
        with self._lock:
            self._until.clear()

    def newest(self, count: int) -> list[str]:
        """So many of the names at most, those that were learnt last."""
        with self._lock:
            return list(itertools.islice(reversed(self._until), count))

    def known(self, names: Sequence[str]) -> list[bool]:
        """Which of ``names`` are known; all at once, since lookups ask for many."""
        if not self._until:
            return [False] * len(names)
        now, get = self._clock(), self._until.get
        return [get(name, now) > now for name in names]

    def __contains__(self, name: str) -> bool:
        until = self._until.get(name)
        return until is not None and until > self._clock()

    def __len__(self) -> int:
        return len(self._until)
