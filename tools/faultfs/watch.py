"""What the filesystem has done and is doing: counters by operation, and the operations under way."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class UnderWay:
    """An operation that has begun; `since` by the monotonic clock, `pid` of the calling thread (0: the kernel itself)."""

    op: str
    path: str
    pid: int
    since: float


class Watch:
    """Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._calls: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._now: dict[int, UnderWay] = {}

    def begin(self, op: str, path: str, pid: int) -> int:
        """Note an operation's begin; a ticket for its end."""
        ticket = next(self._numbers)
        with self._lock:
            self._calls[op] += 1
            self._now[ticket] = UnderWay(op, path, pid, time.monotonic())
        return ticket

    def end(self, ticket: int, error: str = "") -> None:
        """Note its end; `error` is an errno's name."""
        with self._lock:
            done = self._now.pop(ticket)
            if error:
                self._errors[f"{done.op} {error}"] += 1

    def moved(self, op: str, size: int) -> None:
        """Count bytes read or written."""
        with self._lock:
            self._bytes[op] += size

    def counters(self) -> dict[str, dict[str, int]]:
        """`calls` and `bytes` by operation, `errors` by operation and errno (`read EIO`)."""
        with self._lock:
            return {"calls": dict(self._calls), "errors": dict(self._errors), "bytes": dict(self._bytes)}

    def under_way(self) -> list[dict[str, Any]]:
        """Operations that have begun and not ended, oldest first, with their age in seconds."""
        with self._lock:
            now, running = time.monotonic(), list(self._now.values())
        return [
            {"op": one.op, "path": one.path, "pid": one.pid, "seconds": now - one.since}
            for one in sorted(running, key=lambda one: one.since)
        ]
