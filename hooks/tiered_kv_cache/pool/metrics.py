"""Prometheus metrics of the pool's mounts on one node, from what is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from .board import Board
from .prober import ALIVE, STATES, Outcome

PREFIX = "tiered_kv_cache_pool_mount"
LABEL = "line_of_business"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics(Collector):
    """``registry`` is of this watch alone. A mount that has not been looked at yet counts as down.

    ``label``: what the mounts' names are.
    """

    def __init__(self, board: Board, label: str = LABEL) -> None:
        self._board, self._label, self._known = board, label, set[str]()
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            f"{PREFIX}_check_seconds", "Time of a stat and a listing of the mount; of hung ones only when they end",
            [label], buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self._checks = Counter(
            f"{PREFIX}_checks", "Looks at the mount, by outcome", [label, "state"], registry=self.registry
        )
        self.follow(board.lines)
        self.registry.register(self)

    def follow(self, lines: Sequence[str]) -> None:
        """Count for these from now on, from zero where they are new, and forget the others."""
        for line in self._known - set(lines):
            self._seconds.remove(line)
            for state in STATES:
                self._checks.remove(line, state)
        for line in set(lines) - self._known:
            self._seconds.labels(line)
            for state in STATES:
                self._checks.labels(line, state)
        self._known = set(lines)

    def count(self, outcomes: dict[str, Outcome]) -> None:
        """Count one round."""
        for line, outcome in outcomes.items():
            self._checks.labels(line, outcome.state).inc()
            for seconds in outcome.took:
                self._seconds.labels(line).observe(seconds)

    def collect(self) -> Iterator[Any]:
        """See Collector."""
        standing = self._board.standing()
        up = GaugeMetricFamily(f"{PREFIX}_up", "1 while the mount answers", labels=[self._label])
        states = {one.name: one.state for one, _ in standing}
        for line in self._board.lines:
            up.add_metric([line], int(states.get(line) == ALIVE))
        yield up
        seconds = GaugeMetricFamily(
            f"{PREFIX}_state_seconds", "Time in the present state", labels=[self._label, "state"]
        )
        for one, age in standing:
            seconds.add_metric([one.name, one.state], age)
        yield seconds
