"""The state of each mount, since when, and as text for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from .prober import ALIVE, Outcome


@dataclass(frozen=True)
class Standing:
    """``since``: seconds of the monotonic clock; ``wall``: the same moment for people."""

    name: str
    state: str
    detail: str
    since: float
    wall: datetime

    def text(self) -> str:
        """'retail: dead (ENOTCONN) since 2026-11-30T11:00:00Z'."""
        why = f" ({self.detail})" if self.detail else ""
        return f"{self.name}: {self.state}{why} since {self.wall:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class Change:
    """``before``: None at the first look."""

    now: Standing
    before: Standing | None

    def text(self) -> str:
        """One line."""
        if self.before is None:
            return self.now.text()
        return f"{self.now.text()}; was {self.before.state} for {self.now.since - self.before.since:.0f} s"


class Board:
    """Read by other threads while the watch writes. ``stale``: seconds without a look after which nothing is known.

    ``lines``: the mounts' names, which ``follow`` changes where they come and go.
    """

    def __init__(
        self, lines: Sequence[str], stale: float, clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:  # fmt: skip
        self.lines, self._stale, self._clock, self._wall = lines, stale, clock, wall
        self._standing: dict[str, Standing] = {}
        self._looked = clock()

    def follow(self, lines: Sequence[str]) -> None:
        """Look at these from now on, and forget the others."""
        self.lines = lines
        # Another dictionary: somebody may be reading this one.
        self._standing = {name: standing for name, standing in self._standing.items() if name in lines}

    def take(self, outcomes: dict[str, Outcome]) -> list[Change]:
        """Note what a look found; what differs from before."""
        changes = []
        now, wall = self._clock(), self._wall()
        for name, outcome in outcomes.items():
            before = self._standing.get(name)
            if before is None or (before.state, before.detail) != (outcome.state, outcome.detail):
                standing = Standing(name, outcome.state, outcome.detail, now, wall)
                self._standing[name] = standing
                changes.append(Change(standing, before))
        self._looked = now
        return changes

    def standing(self) -> list[tuple[Standing, float]]:
        """Each mount's state, and seconds in it, in the order of the arguments."""
        now, known = self._clock(), self._standing
        return [(known[name], now - known[name].since) for name in self.lines if name in known]

    def text(self) -> str:
        """All, on one line."""
        return "; ".join(standing.text() for standing, _ in self.standing()) or "no Pod of this node uses the pool"

    def problem(self) -> str:
        """What is not alive, for people; empty if all are."""
        silent = self._clock() - self._looked
        if silent > self._stale:
            return f"no look for {silent:.0f} s"
        if len(self._standing) < len(self.lines):
            return "not looked yet"
        return "; ".join(standing.text() for standing, _ in self.standing() if standing.state != ALIVE)
