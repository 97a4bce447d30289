"""What is known of objects without asking the filesystem, bounded in number and time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Known:
    """Names that are known for ``seconds`` at most; beyond ``limit`` the oldest is forgotten."""

    def __init__(self, seconds: float, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._limit, self._clock = seconds, limit, clock
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """Remember ``name`` from now on."""
        if self._seconds <= 0:
            return
        with self._lock:
            self._until.pop(name, None)  # To the end: the order is that of age.
            self._until[name] = self._clock() + self._seconds
            if len(self._until) > self._limit:
                del self._until[next(iter(self._until))]

    def forget(self, name: str) -> None:
        """No longer known."""
        self._until.pop(name, None)

    def __contains__(self, name: str) -> bool:
        until = self._until.get(name)
        return until is not None and until > self._clock()

    def __len__(self) -> int:
        return len(self._until)
