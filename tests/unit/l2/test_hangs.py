"""A filesystem that hangs: nobody waits for it, a bounded number of threads does, and none writes late into LMCache's memory."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiered_kv_cache.l2.pool import Pool

from .tiers import ERRNOS, SHORT, SIZE, Bench, Fault, Hang, Release, bench, payload, until


def scribble(buffers: list[bytearray]) -> None:
    """What LMCache does with memory that it got back."""
    for buffer in buffers:
        buffer[:] = b"\x55" * len(buffer)


def untouched(buffers: list[bytearray]) -> bool:
    return all(buffer.count(0x55) == len(buffer) for buffer in buffers)


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_read_that_comes_back_late_never_writes_into_the_callers_memory(
    tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read returns its bytes after the task was answered; ``after`` slices came in time."""
    with bench(tmp_path, **SHORT) as b:
        b.store(1)
        hang = Hang(after)
        Fault(monkeypatch, "preadv", "@", hang)
        load = b.begin(1)
        assert load.causes() == ["stall"]
        assert hang.entered == after + 1, "the thread still hangs when the answer is there"
        scribble(load.buffers)
        hang.released.set()
        until(lambda: dict(b.tier.stuck())["load"] == 0 and not b.tier.reader.pool.busy)
        assert hang.left == after + 1, "the read did come back, with its bytes"
        assert untouched(load.buffers)


def test_a_gate_that_is_not_asked_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above can fail: the same, with slots that claim to be open."""
    from tiered_kv_cache.l2 import task  # noqa: PLC0415

    with bench(tmp_path, **SHORT) as b:
        b.store(1)
        hang = Hang(1)
        Fault(monkeypatch, "preadv", "@", hang)
        load = b.begin(1)
        assert load.causes() == ["stall"]
        scribble(load.buffers)
        flight = next(job for job in b.tier.reader.pool._current if job is not None)
        for slot in flight.slots:  # type: ignore[attr-defined]
            assert isinstance(slot, task.Slot)
            slot.open = True
        hang.released.set()
        until(lambda: not b.tier.reader.pool.busy)
        assert not untouched(load.buffers)


def test_answers_that_race_with_reads_leave_the_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks given up at any moment, while threads read and copy at full speed."""
    chance = random.Random(5)
    with bench(tmp_path, breaker_errors=1000) as b:
        b.store(*range(8))
        outcomes = set()
        for _ in range(100):
            load = b.begin(*range(8))
            time.sleep(chance.random() * 0.01)
            for task in list(b.tier.watch._tasks):
                task.give_up("deadline")
            outcomes.update(load.causes())
            scribble(load.buffers)
            time.sleep(0.002)
            assert untouched(load.buffers)
        assert outcomes >= {None, "deadline"}, "the race was not tried"


def test_a_hung_mount_costs_one_wait_and_a_bounded_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path, load_threads=3, probe_interval_ms=50.0, **SHORT) as b:
        b.store(*range(8))
        hang = Hang()
        reads = [Fault(monkeypatch, call, str(tmp_path), hang) for call in ("preadv", "lstat", "open")]
        assert b.load(*range(8)) == ["stall"] * 8
        assert b.tier.read_breaker.is_open
        before = threading.active_count()
        for _ in range(20):
            started = time.monotonic()
            assert b.load(1, 2) == ["breaker"] * 2
            assert b.lookup(1, 2) == [False, False]
            assert b.store(5) == ["breaker"]
            assert time.monotonic() - started < 5
        assert threading.active_count() <= before
        assert hang.entered <= 3 + 2, "three readers and one probe for each breaker"
        assert b.tier.status()["breakers"]["read"] == "stall"
        assert b.value("breaker_open", breaker="read") == 1
        assert 1 <= b.value("threads_stuck", pool="load") <= 3
        for read in reads:
            read.on = False
        hang.released.set()
        until(lambda: not b.tier.read_breaker.is_open, "closing")
        until(lambda: b.lookup(*range(8)) == [True] * 8, "hits of lookups")
        until(lambda: b.load(*range(8)) == [None] * 8, "hits of loads")


def test_without_a_breaker_full_pools_answer_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, load_threads=2, probe_interval_ms=60_000.0, stall_ms=200.0) as b:
        b.store(*range(8))
        hang = Hang()
        Fault(monkeypatch, "preadv", "@", hang)
        assert b.load(1, 2) == ["stall"] * 2
        b.tier.read_breaker.close()
        assert b.load(3) == ["stuck"]
        assert b.value("misses_total", operation="load", cause="stuck") == 1
        hang.released.set()
        b.tier.read_breaker.close()
        until(lambda: dict(b.tier.stuck())["load"] == 0)
        until(lambda: b.load(1, 2, 3) == [None] * 3, "hits")


def test_an_object_whose_read_was_given_up_in_the_queue_can_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path, load_threads=1) as b:
        b.store(1, 2)
        hang = Hang()
        Fault(monkeypatch, "preadv", "@", hang)
        load = b.begin(1, 2)
        until(lambda: hang.entered == 1)
        for task in list(b.tier.watch._tasks):
            task.give_up("deadline")
        assert load.causes() == ["deadline"] * 2
        hang.released.set()
        until(lambda: not b.tier.reader.pool.busy)
        assert b.load(1, 2) == [None, None]


def test_nobody_joins_a_read_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, load_threads=4, probe_interval_ms=60_000.0, **SHORT) as b:
        b.store(1, 2)
        hang = Hang()
        fault = Fault(monkeypatch, "preadv", "@", hang)
        assert b.load(1) == ["stall"]
        fault.on = False
        b.tier.read_breaker.close()
        load = b.begin(1, 2)
        assert load.causes()[0] == "stuck"
        hang.released.set()


def test_a_hung_lookup_is_a_miss_at_its_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, lookup_threads=2, **SHORT) as b:
        b.store(*range(64))
        hang = Hang(20)
        fault = Fault(monkeypatch, "lstat", "@", hang)
        found = b.lookup(*range(64))
        assert not all(found)
        assert b.value("misses_total", operation="lookup", cause="deadline") == 64 - sum(found)
        assert b.lookup(1) == [False]
        fault.on = False
        hang.released.set()
        until(lambda: not b.tier.read_breaker.is_open)
        until(lambda: b.lookup(*range(64)) == [True] * 64, "hits")


@pytest.mark.parametrize("of", ["loads", "stores"])
def test_a_late_lookup_while_others_move_is_one_failure_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    with bench(tmp_path, **SHORT, lookup_threads=8) as b:
        b.store(1)
        monkeypatch.setattr(b.tier.reader if of == "loads" else b.tier.stores, "progress", float("inf"))
        hang = Hang()
        Fault(monkeypatch, "lstat", "@", hang)
        try:
            for opened in (False, False, False, True):
                assert b.lookup(1) == [False]
                assert b.tier.read_breaker.is_open is opened
        finally:
            hang.released.set()


def test_a_store_that_hangs_ends_at_its_deadline_and_never_becomes_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LMCache uses the memory for something else while the write goes on: those bytes must not get the object's name."""
    with bench(tmp_path, store_base_ms=200.0, store_ms_per_mib=0.0, store_threads=1) as b:
        hang = Hang()
        fault = Fault(monkeypatch, "writev", "tmp", hang)
        data = bytearray(payload(1))
        answers = b.begin_store((1, data))
        assert [slot.cause for slot in answers.wait().slots] == ["deadline"]
        scribble([data])
        fault.on = False
        hang.released.set()
        until(lambda: not b.tier.stores.pool.busy)
        assert not b.file(1).exists()
        assert b.leftovers() == []
        b.tier.store_breaker.close()
        assert b.store(1) == [None]
        assert b.load(1) == [None]


def test_stores_wait_in_a_bounded_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, store_queue_mib=8, store_threads=1) as b:
        hang = Hang()
        Fault(monkeypatch, "writev", "tmp", hang)
        answers = [b.begin_store((n, bytearray(payload(n)))) for n in range(10)]
        assert b.tier.store_queue_bytes() == 3 * SIZE <= 8 << 20
        dropped = [a for a in answers if a.there]
        assert [[s.cause for s in a.task.slots] for a in dropped] == [["queue_full"]] * 7
        assert b.value("store_drops_total", cause="queue_full") == 7
        assert b.value("store_queue_bytes") == 3 * SIZE
        hang.released.set()
        assert [[s.cause for s in a.wait().slots] for a in answers[:3]] == [[None]] * 3
        assert b.tier.store_queue_bytes() == 0
        assert b.load(0, 1, 2) == [None] * 3


def test_a_store_that_waited_too_long_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, store_wait_ms=50.0, store_threads=1) as b:
        hang = Hang()
        Fault(monkeypatch, "writev", "tmp", hang)
        first, second = b.begin_store((1, bytearray(payload(1)))), b.begin_store((2, bytearray(payload(2))))
        until(lambda: hang.entered == 1)
        time.sleep(0.1)
        hang.released.set()
        assert [s.cause for s in first.wait().slots] == [None]
        assert [s.cause for s in second.wait().slots] == ["queue_full"]


def test_close_answers_everything_and_does_not_wait_for_hung_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = Bench(tmp_path)
    b.store(1, 2)
    hang = Hang()
    for call in ("preadv", "writev"):
        Fault(monkeypatch, call, str(tmp_path), hang)
    load, store = b.begin(1, 2), b.begin_store((3, bytearray(payload(3))))
    until(lambda: hang.entered == 3)
    b.tier.close()
    assert load.causes() == ["closed"] * 2
    assert [s.cause for s in store.wait().slots] == ["closed"]
    scribble(load.buffers)
    hang.released.set()
    until(lambda: hang.left == 3)
    time.sleep(0.05)
    assert untouched(load.buffers)
    assert not b.file(3).exists()
    assert b.load(1) == ["closed"]
    assert b.store(4) == ["closed"]


@pytest.mark.parametrize("known", [True, False])
def test_a_load_slower_than_computing_opens_the_breaker(
    tmp_path: Path, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    change: dict[str, Any] = (
        {"recompute_ms_per_chunk": 50.0} if known else {"load_base_ms": 50.0, "load_ms_per_mib": 0.0}
    )
    with bench(tmp_path, load_floor_ms=50.0, probe_interval_ms=60_000.0, load_threads=1, **change) as b:
        b.store(*range(4))

        def slow(real: Callable[..., int], *args: Any) -> int:
            time.sleep(0.2)
            return real(*args)

        Fault(monkeypatch, "preadv", "@", slow)
        assert b.load(3) == ["deadline"]
        assert b.tier.read_breaker.is_open == known, "without knowing what computing costs, one late load is no proof"


GONE = ["ENOTCONN", "ESTALE", "ETIMEDOUT"]


@pytest.mark.parametrize("cause", GONE)
def test_a_mount_that_is_gone_is_not_asked_until_a_probe_finds_it(
    tmp_path: Path, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path) as b:
        b.store(1, 2)
        faults = [Fault(monkeypatch, call, str(tmp_path), ERRNOS[cause]) for call in ("lstat", "open", "preadv")]
        assert b.lookup(1, 2) == [False, False]
        until(lambda: b.tier.read_breaker.is_open)
        assert b.tier.read_breaker.cause == cause
        assert b.load(1, 2) == ["breaker"] * 2
        assert faults[2].calls == 0
        for fault in faults:
            fault.on = False
        until(lambda: not b.tier.read_breaker.is_open)
        assert b.lookup(1, 2) == [True, True]
        assert b.load(1, 2) == [None, None]
        assert b.value("breaker_opened_total", breaker="read", cause=cause) >= 1


def test_errors_of_many_files_open_the_breaker_those_of_one_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path, load_threads=1, probe_interval_ms=60_000.0, unreadable_ms=0.0) as b:
        b.store(*range(10))
        fault = Fault(monkeypatch, "preadv", "@", ERRNOS["EIO"])
        assert b.load(1) == ["EIO"]
        assert not b.tier.read_breaker.is_open
        assert b.load(2, 3, 4)[-1] == "EIO"
        assert b.tier.read_breaker.is_open and b.tier.read_breaker.cause == "EIO"
        fault.on = False
        assert b.load(5) == ["breaker"]


@pytest.mark.parametrize("slow", [True, False])
def test_the_probe_wants_an_object_as_fast_as_computing_it(
    tmp_path: Path, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path, recompute_ms_per_chunk=150.0, load_floor_ms=1.0, load_threads=1) as b:
        b.store(1)
        assert b.load(1) == [None]

        def pread(real: Callable[..., Any], *args: Any) -> Any:
            if slow:
                time.sleep(0.2)
            return real(*args)

        probe = Fault(monkeypatch, "pread", "@", pread)
        b.tier.read_breaker.trip("deadline")
        until(lambda: probe.calls >= 4)
        if slow:
            assert b.tier.read_breaker.is_open
        else:
            until(lambda: not b.tier.read_breaker.is_open)


def test_waiting_for_pythons_lock_is_not_held_against_the_filesystem(tmp_path: Path) -> None:
    waits: list[Callable[[], object]] = []
    lock, release = threading.Event(), Release()
    pool = Pool("test", 1)

    class Job:
        def run(self) -> None:
            waits[-1]()

        def abandoned(self) -> bool:
            return False

    waits.append(release.wait)
    pool.submit(Job())
    until(lambda: pool.busy and not pool.starving(), "a wait in the kernel")
    release.set()
    until(lambda: not pool.busy)
    waits.append(lock.wait)
    pool.submit(Job())
    until(pool.starving, "a wait for a lock")
    lock.set()
    until(lambda: not pool.busy)
    assert not pool.starving()
    pool.close()
