"""Loads: right bytes or a miss with its cause, whatever lies in the tree or the filesystem answers."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xxhash

from tiered_kv_cache.l2 import format as f
from tiered_kv_cache.l2.task import Task

from .tiers import ERRNOS, SIZE, Bench, Fault, bench, name, payload, until


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("size", [1, 4095, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, SIZE, 5 << 20])
def test_what_was_stored_is_loaded(tmp_path: Path, size: int, direct: bool) -> None:
    with bench(tmp_path, direct_io=direct) as b:
        assert b.store(1, 2, size=size) == [None, None]
        assert b.file(1).stat().st_size == 4096 + size
        assert b.load(1, 2, 3, size=size) == [None, None, "ENOENT"]
        assert b.value("bytes_total", operation="load") == 2 * size
        assert b.value("bytes_total", operation="store") == 2 * size
        assert b.leftovers() == []


def test_the_file_is_as_the_format_says(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        data = b.file(1).read_bytes()
    head = f.decode_header(data)
    assert head.name == name(1)
    assert data[4096:] == payload(1)
    assert head.payload_checksum == f.payload_checksum(payload(1))


def _flip(at: int) -> Callable[[Path, Bench], None]:
    def do(path: Path, b: Bench) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)

    return do


def _replace(make: Callable[[Path], Any]) -> Callable[[Path, Bench], None]:
    def do(path: Path, b: Bench) -> None:
        path.unlink()
        make(path)

    return do


def _hole(path: Path, b: Bench) -> None:
    os.truncate(path, 0)
    os.truncate(path, 4096 + SIZE)


def _foreign(path: Path, b: Bench) -> None:
    shutil.copy(b.file(9), path)


BAD: dict[str, tuple[str, Callable[[Path, Bench], None]]] = {
    "cut in the payload": ("length", lambda path, b: os.truncate(path, 5000)),
    "cut to its header": ("length", lambda path, b: os.truncate(path, 4096)),
    "cut to nothing": ("length", lambda path, b: os.truncate(path, 0)),
    "longer": ("length", lambda path, b: os.truncate(path, 4096 + SIZE + 1)),
    "a hole of the right size": (
        "magic",
        _hole,
    ),
    "a terabyte of hole": ("length", lambda path, b: os.truncate(path, 1 << 40)),
    "a bit of the magic": ("magic", _flip(0)),
    "a bit of the header": ("header", _flip(300)),
    "the first bit of the payload": ("checksum", _flip(4096)),
    "a bit of the second slice": ("checksum", _flip(4096 + (1 << 20))),
    "the last bit": ("checksum", _flip(4096 + SIZE - 1)),
    "another key's object": ("key", _foreign),
    "a directory": ("kind", _replace(Path.mkdir)),
    "a link": ("kind", _replace(lambda path: path.symlink_to("/etc/passwd"))),
    "a FIFO": ("kind", _replace(os.mkfifo)),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_a_miss_goes_and_is_repaired_by_the_next_store(tmp_path: Path, what: str) -> None:
    cause, spoil = BAD[what]
    with bench(tmp_path) as b:
        b.store(*range(1, 8), 9)
        spoil(b.file(4), b)
        assert b.load(*range(1, 8)) == [None, None, None, cause, None, None, None]
        assert not os.path.lexists(b.file(4))
        assert b.leftovers() == []
        assert b.value("set_aside_total", cause=cause) == 1
        assert b.value("misses_total", operation="load", cause=cause) == 1
        assert b.load(4) == ["ENOENT"]
        assert b.store(4) == [None]
        assert b.load(*range(1, 8)) == [None] * 7
        assert not b.tier.read_breaker.is_open


def test_another_layout_is_a_miss(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        assert b.load(1, layout=77) == ["layout"]


@pytest.mark.parametrize(
    "what", ["cut in the payload", "cut to its header", "cut to nothing", "longer", "a directory", "a link"]
)
def test_lookup_and_store_call_what_has_the_wrong_size_absent(tmp_path: Path, what: str) -> None:
    with bench(tmp_path) as b:
        b.store(1, 2, 3, 9)
        BAD[what][1](b.file(2), b)
        assert b.lookup(1, 2, 3) == [True, False, True]
        assert b.store(2) == [None]
        assert b.lookup(1, 2, 3) == [True, True, True]
        assert b.load(1, 2, 3) == [None] * 3
        assert b.leftovers() == []


@pytest.mark.parametrize("cause", ERRNOS)
def test_one_chunk_of_seven_fails_and_only_that_one(
    tmp_path: Path, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path, load_threads=1, breaker_errors=100) as b:
        b.store(*range(1, 8))
        fault = Fault(monkeypatch, "preadv", name(7), ERRNOS[cause])
        assert b.load(*range(1, 8)) == [None] * 6 + [cause]
        assert b.value("misses_total", operation="load", cause=cause) == 1
        assert fault.calls == (2 if cause == "ESTALE" else 1)
        assert b.file(7).exists(), "an error is no proof that the bytes are wrong"


def test_a_short_read_and_an_error_of_the_checksum_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(*range(1, 8))
        Fault(monkeypatch, "preadv", name(4), lambda real, *a, **k: 0)
        real = xxhash.xxh3_64_intdigest

        def broken(data: Any) -> int:
            if bytes(data[:64]) == payload(6)[:64]:
                raise RuntimeError("the library")
            return real(data)

        monkeypatch.setattr(xxhash, "xxh3_64_intdigest", broken)
        assert b.load(*range(1, 8)) == [None, None, None, "length", None, "internal", None]


def test_reads_that_come_in_pieces_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        Fault(monkeypatch, "preadv", name(1), lambda real, fd, into, at: real(fd, [into[0][:100_000]], at))
        assert b.load(1) == [None]


def test_a_stale_handle_is_opened_again_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        seen: list[int] = []

        def once(real: Callable[..., int], *args: Any) -> int:
            seen.append(1)
            if len(seen) == 2:
                raise OSError(ERRNOS["ESTALE"], "stale")
            return real(*args)

        Fault(monkeypatch, "preadv", name(1), once)
        assert b.load(1) == [None]
        assert not b.tier.read_breaker.is_open


def test_an_unreadable_file_stays_is_not_asked_again_and_is_replaced_by_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path) as b:
        b.store(1, 2)
        inode = b.file(1).stat().st_ino
        fault = Fault(monkeypatch, "preadv", name(1), ERRNOS["EIO"])
        assert b.load(1, 2) == ["EIO", None]
        for _ in range(5):
            assert b.lookup(1, 2) == [False, True]
            assert b.load(1) == ["unreadable"]
        assert fault.calls == 1
        assert b.file(1).stat().st_ino == inode
        fault.on = False
        assert b.store(1) == [None]
        assert b.file(1).stat().st_ino != inode
        assert b.value("stores_total", outcome="repaired") == 1
        assert b.load(1, 2) == [None, None]


@pytest.mark.parametrize("lost_for_good", [False, True])
def test_what_was_unreadable_in_an_outage_is_read_again_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost_for_good: bool
) -> None:
    with bench(tmp_path, probe_interval_ms=20.0) as b:
        b.store(1, 2)
        bad = Fault(monkeypatch, "preadv", name(1), ERRNOS["EIO"])
        assert b.load(1) == ["EIO"]
        assert b.load(1) == ["unreadable"]
        bad.on = lost_for_good
        b.tier.read_breaker.trip("EIO")
        until(lambda: not b.tier.read_breaker.is_open, "closing")
        assert b.load(1, 2) == [("unreadable" if lost_for_good else None), None]


def test_a_file_replaced_while_it_was_read_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        good = b.file(1).read_bytes()
        _flip(4096 + SIZE - 1)(b.file(1), b)

        def replaced(real: Callable[..., int], fd: int, into: Any, at: int) -> int:
            count = real(fd, into, at)
            if at > 4096 + (1 << 20):
                new = b.file(1).with_suffix(".new")
                new.write_bytes(good)
                new.rename(b.file(1))
            return count

        fault = Fault(monkeypatch, "preadv", name(1), replaced)
        assert b.load(1) == ["checksum"]
        fault.on = False
        assert b.load(1) == [None]


def test_one_read_serves_all_who_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, load_threads=1) as b:
        b.store(*range(1, 8))
        gate = threading.Event()
        fault = Fault(monkeypatch, "preadv", "@", lambda real, *a: gate.wait(30) and real(*a))
        loads = [b.begin(*range(1, 8)) for _ in range(16)]
        until(lambda: fault.calls == 1)
        gate.set()
        assert [load.causes() for load in loads] == [[None] * 7] * 16
        assert fault.calls == 7 * 3, "each slice of each object once"
        assert b.value("bytes_total", operation="load") == 7 * SIZE
        assert b.value("shared_loads_total") == 15 * 7


def test_who_comes_late_gets_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        gate = threading.Event()
        fault = Fault(monkeypatch, "preadv", "@", lambda real, *a: (fault.calls < 2 or gate.wait(30)) and real(*a))
        first = b.begin(1)
        until(lambda: fault.calls == 2)
        late = [b.begin(1) for _ in range(3)]
        gate.set()
        assert first.causes() == [None]
        assert [load.causes() for load in late] == [[None]] * 3
        assert fault.calls == 3


def test_who_comes_late_is_not_hurt_by_the_first_ones_leaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        gate = threading.Event()
        fault = Fault(monkeypatch, "preadv", "@", lambda real, *a: (fault.calls != 2 or gate.wait(30)) and real(*a))
        first = b.begin(1)
        until(lambda: fault.calls == 2)
        late = b.begin(1)
        first_task = next(
            t for t in b.tier.watch._tasks if isinstance(t, Task) and t.slots[0].view.obj is first.buffers[0]
        )
        first_task.give_up("deadline")
        assert first.causes() == ["deadline"]
        gate.set()
        assert late.causes() == [None]


def test_a_bad_object_is_a_miss_for_all_who_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        _flip(4096 + SIZE - 1)(b.file(1), b)
        gate = threading.Event()
        fault = Fault(monkeypatch, "preadv", "@", lambda real, *a: (fault.calls != 2 or gate.wait(30)) and real(*a))
        loads = [b.begin(1)]
        until(lambda: fault.calls == 2)
        loads.append(b.begin(1))
        gate.set()
        assert [load.causes() for load in loads] == [["checksum"]] * 2


def test_many_writers_and_readers_of_the_same_objects(tmp_path: Path) -> None:
    benches = [Bench(tmp_path) for _ in range(4)]
    faults: list[Any] = []

    def work(b: Bench, seed: int) -> None:
        try:
            for turn in range(6):
                numbers = [(turn * 7 + seed * 3 + i) % 8 for i in range(8)]
                if seed % 2:
                    assert b.store(*numbers, size=100_000) == [None] * 8
                else:
                    assert set(b.load(*numbers, size=100_000)) <= {None, "ENOENT"}
                    b.lookup(*numbers, size=100_000)
        except BaseException as err:
            faults.append(err)

    threads = [threading.Thread(target=work, args=(b, i)) for b in benches for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    for b in benches:
        assert b.leftovers() == []
        assert b.value("set_aside_total", cause="checksum") == 0
        b.tier.close()


def test_deadline_grows_with_bytes_and_never_beyond_what_computing_costs(tmp_path: Path) -> None:
    with bench(
        tmp_path, load_base_ms=500.0, load_ms_per_mib=20.0, load_floor_ms=100.0, recompute_ms_per_chunk=50.0
    ) as b:
        assert b.tier.reader.allowed(10 << 20, 100) == pytest.approx(0.7)
        assert b.tier.reader.allowed(1000 << 20, 100) == pytest.approx(5.0)
        assert b.tier.reader.allowed(1000 << 20, 1) == pytest.approx(0.1)
    with bench(tmp_path, load_base_ms=500.0, load_ms_per_mib=20.0) as b:
        assert b.tier.reader.allowed(1000 << 20, 1) == pytest.approx(20.5)


def test_what_is_read_before_it_is_not_held_against_a_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path, load_threads=1) as b:
        b.store(*range(1, 6))
        asked: list[tuple[int, int]] = []
        allowed = b.tier.reader.allowed

        def record(size: int, chunks: int) -> float:
            asked.append((size, chunks))
            return allowed(size, chunks)

        monkeypatch.setattr(b.tier.reader, "allowed", record)
        gate = threading.Event()
        fault = Fault(monkeypatch, "preadv", "@", lambda real, *a: gate.wait(30) and real(*a))
        loads = [b.begin(1, 2), b.begin(3, 4), b.begin(5)]
        until(lambda: fault.calls == 1)
        gate.set()
        assert [load.causes() for load in loads] == [[None] * 2, [None] * 2, [None]]
        assert b.load(1) == [None]
        assert asked == [(2 * SIZE, 2), (4 * SIZE, 4), (5 * SIZE, 5), (SIZE, 1)]


def test_what_is_in_the_page_cache_is_read_into_the_callers_memory_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        real, calls = os.preadv, list[tuple[int, ...]]()

        def counted(fd: int, into: Any, at: int, flags: int = 0) -> int:
            calls.append((at, flags))
            return real(fd, into, at, flags)

        monkeypatch.setattr(os, "preadv", counted)
        assert b.load(1) == [None]
        assert calls == [(0, os.RWF_NOWAIT), (4096 + (1 << 20), os.RWF_NOWAIT), (4096 + (2 << 20), os.RWF_NOWAIT)]
        _flip(4096 + SIZE - 1)(b.file(1), b)
        assert b.load(1) == ["checksum"]


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EAGAIN, None])
def test_what_is_not_is_read_the_ordinary_way(
    tmp_path: Path, code: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused for good, for now, or only a part of it there."""
    with bench(tmp_path) as b:
        b.store(1, 2)
        real, refused = os.preadv, list[int]()

        def refuse(fd: int, into: Any, at: int, flags: int = 0) -> int:
            if not flags:
                return real(fd, into, at)
            refused.append(at)
            if code is None:
                return real(fd, [into[0][:4096]], at, flags)
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "preadv", refuse)
        assert b.load(1) == [None]
        assert b.load(2) == [None]
        assert len(refused) == (1 if code == errno.EOPNOTSUPP else 6)
