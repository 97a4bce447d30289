"""Lookups: one stat an object, none for what was just seen, and memory that is bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiered_kv_cache.l2.known import Known

from .tiers import Fault, bench


def test_one_stat_an_object_and_none_for_what_was_just_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, positive_cache_ms=60_000.0) as b, bench(tmp_path) as writer:
        writer.store(*range(5))
        stats = Fault(monkeypatch, "lstat", "@", lambda real, *a, **k: real(*a, **k))
        opens = Fault(monkeypatch, "open", "@", lambda real, *a, **k: real(*a, **k))
        assert b.lookup(*range(10)) == [True] * 5 + [False] * 5
        assert stats.calls == 10
        assert b.lookup(*range(5)) == [True] * 5
        assert stats.calls == 10
        assert opens.calls == 0
        assert b.value("hits_total", operation="lookup") == 10
        assert b.value("misses_total", operation="lookup", cause="ENOENT") == 5


def test_what_was_remembered_as_present_but_is_gone_fails_once(tmp_path: Path) -> None:
    with bench(tmp_path, positive_cache_ms=60_000.0) as b:
        b.store(1, 2)
        assert b.lookup(1, 2) == [True, True]
        b.file(2).unlink()
        assert b.lookup(1, 2) == [True, True]
        assert b.load(1, 2) == [None, "ENOENT"]
        assert b.lookup(1, 2) == [True, False]


def test_a_lookup_of_many_keys_is_right_at_every_place(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        there = [n for n in range(200) if n % 3 == 0]
        b.store(*there, size=100)
        assert b.lookup(*range(200), size=100) == [n % 3 == 0 for n in range(200)]


def test_what_is_known_is_bounded_in_number_and_time() -> None:
    now = [0.0]
    known = Known(10.0, 3, lambda: now[0])
    for at, name in enumerate("abcd"):
        now[0] = at
        known.add(name)
    assert [n in known for n in "abcd"] == [False, True, True, True]
    known.add("b")
    known.add("e")
    assert [n in known for n in "bcde"] == [True, False, True, True]
    now[0] = 13.5
    assert "d" not in known and "b" not in Known(0.0, 3)
    assert len(known) == 3
    known.forget("b")
    assert len(known) == 2
