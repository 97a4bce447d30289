"""The keeper's Prometheus metrics, all from the last snapshot: a scrape never waits for the volume."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from .state import State

PREFIX = "tiered_kv_cache_keeper"
_OF = ("line_of_business", "model", "fingerprint")
_GAUGES = {
    "bytes": ("used_bytes", "Bytes of objects that count against quotas"),
    "apparentBytes": ("apparent_bytes", "Sum of the objects' lengths"),
    "blockBytes": ("block_bytes", "Blocks that the objects take, in bytes"),
    "objects": ("objects", "Objects"),
    "tmpBytes": ("tmp_bytes", "Bytes of stores under way and left-over ones"),
    "untracked": ("untracked_objects", "Objects beyond sweep.mostObjects: counted, never chosen"),
    "idleSeconds": ("idle_seconds", "Seconds since the last sign of life of a fingerprint"),
}
_COUNTERS = {
    "removed": ("removed_objects", "Objects removed", ("line_of_business", "model", "reason")),
    "removed_bytes": ("removed_bytes", "Bytes of objects removed", ("line_of_business", "model", "reason")),
    "cleaned": ("cleaned", "Other files and directories removed", ("line_of_business", "kind")),
    "spared": ("spared_objects", "Objects chosen and not removed", ("reason",)),
    "errors": ("errors", "Failed file operations", ("errno",)),
    "logs": ("use_logs", "Use logs read", ("line_of_business", "kind")),
    "marked": ("uses", "Uses of objects read from logs", ("line_of_business",)),
}
_NUMBERS = {
    "complete": "Whether the whole tree has been seen since the start; before, nothing is evicted",
    "suspects": "Objects that could not be read",
    "ghostsKept": "Ghosts that stay because the pool is not known to be whole",
    "clockSteady": "Whether ages can be trusted",
    "sweepDone": "Steps of the sweep under way that are done",
    "sweepTotal": "Steps of the sweep under way",
    "sweepSeconds": "Seconds of the last whole sweep",
}
_TOTALS = {
    "sweeps": "Whole sweeps",
    "operations": "File operations",
    "clockJumps": "Jumps of the filesystem's clock",
}


class KeeperCollector(Collector):
    """All metrics of one keeper."""

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Any]:
        """See Collector."""
        state, shown = self._state, self._state.snapshot
        yield _gauge("leading", "Whether this process may act on the volume", int(state.leading))
        yield _gauge("snapshot_age_seconds", "Age of everything below; it grows while the volume hangs", state.age())
        yield _gauge("stuck_seconds", "How long the volume has not answered one operation", state.stuck()[0])
        yield _gauge("dry_run", "Whether nothing is changed", int(shown.dry))
        for key, (name, text) in _GAUGES.items():
            family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=_OF)
            for one in shown.fingerprints:
                if one[key] is not None:
                    family.add_metric((one["lineOfBusiness"], one["model"], one["fingerprint"]), one[key])
            yield family
        yield _family(
            "unknown_files", "Files that the keeper does not know and never touches", ("line_of_business",),
            [((lob,), value) for lob, value in shown.unknown.items()],
        )  # fmt: skip
        for at, name, text in (
            (1, "scope_used_bytes", "Bytes used of a quota"), (2, "scope_quota_bytes", "A quota in bytes, 0 for none"),
            (3, "scope_files", "Files counted by a limit"), (4, "scope_quota_files", "A limit of files, 0 for none"),
        ):  # fmt: skip
            yield _family(name, text, ("scope",), [((str(s[0]),), float(s[at])) for s in shown.scopes])
        for key, (name, text, labels) in _COUNTERS.items():
            counter = CounterMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
            for label, value in shown.counters.get(key, {}).items():
                counter.add_metric(label, value)
            yield counter
        for key, text in _NUMBERS.items():
            yield _gauge(_snake(key), text, shown.numbers.get(key, 0))
        for key, text in _TOTALS.items():
            total = CounterMetricFamily(f"{PREFIX}_{_snake(key)}", text)
            total.add_metric((), shown.numbers.get(key, 0))
            yield total


def registry(state: State) -> CollectorRegistry:
    """A registry of this keeper alone."""
    made = CollectorRegistry()
    made.register(KeeperCollector(state))
    return made


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, value=value)


def _family(
    name: str, text: str, labels: Sequence[str], values: list[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for label, value in values:
        family.add_metric(label, value)
    return family


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
