"""Which IECs are to be looked at, each once however often it was named."""

from __future__ import annotations

import threading
import time

Key = tuple[str, str]
"""Namespace and name."""


class Work:
    """A queue for one that takes and many that add."""

    def __init__(self) -> None:
        self._due: dict[Key, float] = {}
        self._changed = threading.Condition()

    def add(self, key: Key, after_s: float = 0.0) -> None:
        """Have it taken after so many seconds, or earlier where it is already due earlier."""
        with self._changed:
            self._due[key] = min(self._due.get(key, float("inf")), time.monotonic() + after_s)
            self._changed.notify()

    def take(self) -> Key:
        """The next one; waits until there is one."""
        with self._changed:
            while True:
                now = time.monotonic()
                first = min(self._due.items(), key=lambda each: each[1], default=None)
                if first and first[1] <= now:
                    del self._due[first[0]]
                    return first[0]
                self._changed.wait(first[1] - now if first else None)
