"""What the volume's thread is doing, for those who must not wait for it: a call into a hung mount never returns.

Only one thread touches the volume. Lease, metrics and status live in others, and read from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Watch:
    """The file operation under way."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._now: tuple[float, str] | None = None

    def doing(self, what: str) -> Watch:
        """Mark an operation: ``with watch.doing("reading x"):``. No generator, since there are millions of them."""
        self._now = (self._clock(), what)
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._now = None

    def stuck(self) -> tuple[float, str]:
        """Seconds that the present operation has taken, and what it is; (0, "") between operations."""
        now = self._now
        return (0.0, "") if now is None else (self._clock() - now[0], now[1])
