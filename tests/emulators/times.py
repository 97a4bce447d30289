"""A clock that only sleeping moves."""

from __future__ import annotations

from tiered_kv_cache.deadline import Deadline


class Time:
    """`now`: seconds since it was made."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def deadline(self, seconds: float = 60.0) -> Deadline:
        """By this clock."""
        return Deadline(seconds, lambda: self.now, self.sleep)
