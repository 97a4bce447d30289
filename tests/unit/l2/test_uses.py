"""Use logs: each object once an interval, in the order of its prefix, off the request's path."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from tiered_kv_cache.l2 import format as f
from tiered_kv_cache.l2 import tier
from tiered_kv_cache.l2.metrics import Metrics
from tiered_kv_cache.l2.uselog import UseLog, chains

from .tiers import bench, name, until

A, B, C, D, E = (name(n) for n in range(5))


def a_log(limit: int = 100) -> UseLog:
    return UseLog(Metrics(CollectorRegistry()), limit, clock=lambda: 1_700_000_000.7)


def lines(log: UseLog) -> list[tuple[str, tuple[str, ...]]]:
    found = list(f.parse_log(log.take()[0]))
    assert {line.time for line in found} <= {1_700_000_000}
    return [(line.kind, line.names) for line in found]


def test_each_object_once_however_often_it_was_used() -> None:
    log = a_log()
    for _ in range(100):
        log.used([A, B])
        log.used([A, B, C])
    assert lines(log) == [("use", (A, B, C))]
    assert log.take() == (b"", 0)


def test_branches_begin_with_what_they_branch_from() -> None:
    log = a_log()
    log.used([A, B, C])
    log.used([A, B, D, E])
    assert lines(log) == [("use", (A, B, C)), ("use", (B, D, E))]


def test_what_precedes_a_stored_object_was_learnt_from_its_lookup() -> None:
    log = a_log()
    log.learn([A, B, C, D])
    log.put([D, B, C])  # Two requests in one store task, in any order.
    assert lines(log) == [("put", (A, B, C, D))]
    log.put([C, E])  # Never looked up: a block of an answer follows the one before it.
    assert lines(log) == [("put", (B, C, E))]


def test_what_is_too_much_is_counted() -> None:
    registry = CollectorRegistry()
    log = UseLog(Metrics(registry), 2)
    log.used([A, B, C, D])
    assert registry.get_sample_value("tkc_l2_use_lost_total", {"cause": "queue_full"}) == 2
    assert [line.names for line in f.parse_log(log.take()[0])] == [(A, B)]


def test_what_cannot_be_written_is_counted_and_forgotten() -> None:
    registry = CollectorRegistry()
    log = UseLog(Metrics(registry), 10)
    log.used([A])

    def full(data: bytes) -> None:
        raise OSError(28, "full")

    log.flush(full)
    assert registry.get_sample_value("tkc_l2_use_lost_total", {"cause": "ENOSPC"}) == 1
    assert log.take() == (b"", 0)


NODES = st.integers(0, 30).map(str)


@settings(deadline=None)
@given(st.dictionaries(NODES, st.none() | NODES, max_size=30))
def test_chains_hold_each_name_and_each_link_once(before: dict[str, str | None]) -> None:
    found = chains(before)
    links = {(a, b) for chain in found for a, b in itertools.pairwise(chain)}
    assert links == {(a, b) for b, a in before.items() if a is not None}
    own = [name for chain in found for name in chain[1:]] + [c[0] for c in found if before.get(c[0], "") is None]
    assert set(before) <= set(own)


def test_a_lookup_marks_what_is_there_and_the_file_is_as_the_format_says(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        b.store(0, 1, 2, size=100)
        b.lookup(0, 1, 2, 3, size=100)
        b.tier.uses.flush(b.tier.tree.write_log)
        logs = list((tmp_path / "use").rglob("*"))
        assert [p.name for p in logs if p.is_file()] == ["0.log"]
        assert logs[0].name == b.tier.writer
        text = (tmp_path / "use" / b.tier.writer / "0.log").read_bytes()
        assert [(line.kind, line.names) for line in f.parse_log(text)] == [("put", (A, B, C)), ("use", (A, B, C))]
        b.tier.uses.flush(b.tier.tree.write_log)
        assert len([p for p in (tmp_path / "use").rglob("*") if p.is_file()]) == 1, "nothing used, nothing written"
        assert b.leftovers() == []


def test_many_stores_are_logged_before_the_interval_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier, "EARLY_BYTES", 250)
    monkeypatch.setattr(tier, "EARLY_SECONDS", 0.0)
    with bench(tmp_path) as b:
        b.store(0, 1, size=100)
        assert list((tmp_path / "use").rglob("*.log")) == []
        b.store(2, size=100)
        until(lambda: bool(list((tmp_path / "use").rglob("*.log"))), "a log")


def test_the_last_interval_is_written_at_the_end(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        b.store(0, size=100)
    assert len(list((tmp_path / "use").rglob("*.log"))) == 1
