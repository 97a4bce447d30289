"""Metrics in prometheus_client's default registry, which LMCache's server shows at its own /metrics (docs/l2.md)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import cache
from typing import Protocol

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric

LOOKUP, LOAD, STORE = "lookup", "load", "store"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Source(Protocol):
    """What gauges are read from. Must not block: a scrape must answer while the filesystem hangs."""

    def breakers(self) -> Iterable[tuple[str, bool]]:
        """Name and whether it is open."""

    def stuck(self) -> Iterable[tuple[str, int]]:
        """Pool and threads that hang."""

    def store_queue_bytes(self) -> int:
        """Bytes of stores that wait or run."""


class Metrics:
    """The tier's metrics. Every label has a bounded set of values (errors.py, format.CAUSES)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"tkc_l2_{name}", text, labels, registry=registry)

        self.hits = counter("hits", "Objects found (lookup) or loaded and verified (load).", "operation")
        self.misses = counter("misses", "Objects not found or not loaded, by cause.", "operation", "cause")
        self.stores = counter(
            "stores", "Objects of stores: stored, present (already there), repaired (replaced).", "outcome"
        )
        self.drops = counter("store_drops", "Objects not stored, by cause.", "cause")
        self.bytes = counter("bytes", "Payload bytes read from or written to the filesystem.", "operation")
        self.shared = counter("shared_loads", "Loads that were served by another request's read of the same object.")
        self.set_aside = counter("set_aside", "Objects removed because their bytes were wrong, by cause.", "cause")
        self.opened = counter("breaker_opened", "How often a breaker opened, by cause.", "breaker", "cause")
        self.use_lost = counter("use_lost", "Objects whose use was not logged, by cause.", "cause")
        self.seconds = Histogram(
            "tkc_l2_seconds",
            "Time of a task from submission to its answer.",
            ["operation"],
            buckets=_SECONDS,
            registry=registry,
        )
        for operation in (LOOKUP, LOAD, STORE):
            self.seconds.labels(operation)
            self.bytes.labels(operation) if operation != LOOKUP else self.hits.labels(LOOKUP)
        self.hits.labels(LOAD)
        self._sources: weakref.WeakSet[Source] = weakref.WeakSet()
        registry.register(_Gauges(self._sources))

    def watch(self, source: Source) -> None:
        """Show ``source``'s gauges as long as it lives."""
        self._sources.add(source)


class _Gauges:
    """Gauges, summed over the adapters of this process."""

    def __init__(self, sources: weakref.WeakSet[Source]) -> None:
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        """Called at each scrape."""
        sources = list(self._sources)
        yield _family("breaker_open", "1 while the breaker is open.", "breaker", sources, lambda s: s.breakers())
        yield _family("threads_stuck", "Threads that hang in the filesystem.", "pool", sources, lambda s: s.stuck())
        queue = GaugeMetricFamily("tkc_l2_store_queue_bytes", "Bytes of stores that wait or run.")
        queue.add_metric([], sum(s.store_queue_bytes() for s in sources))
        yield queue


def _family(
    name: str, text: str, label: str, sources: list[Source], read: Callable[[Source], Iterable[tuple[str, int | bool]]]
) -> Metric:
    family = GaugeMetricFamily(f"tkc_l2_{name}", text, labels=[label])
    sums: dict[str, int] = {}
    for source in sources:
        for key, value in read(source):
            sums[key] = sums.get(key, 0) + int(value)
    for key, total in sums.items():
        family.add_metric([key], total)
    return family


@cache
def shared() -> Metrics:
    """The process's metrics: adapters may come and go, a registry takes a name once."""
    return Metrics(REGISTRY)
