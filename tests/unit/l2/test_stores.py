"""Stores: whole or not at all, no file left behind, and what failed is told apart."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tiered_kv_cache.l2 import paths, writer
from tiered_kv_cache.l2.task import Ref

from .tiers import LAYOUT, SIZE, Answer, Fault, bench, name, payload, until

PAUSES = {"ENOSPC": errno.ENOSPC, "EDQUOT": errno.EDQUOT, "EROFS": errno.EROFS, "EACCES": errno.EACCES}


@pytest.mark.parametrize("call", ["writev", "open"])
@pytest.mark.parametrize("cause", PAUSES)
def test_what_every_store_would_meet_pauses_stores_while_loads_go_on(
    tmp_path: Path, cause: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        fault = Fault(monkeypatch, call, "/tmp/tiny-0", PAUSES[cause])
        # The probe of stores writes too.
        probe = Fault(monkeypatch, "write", "/tmp/tiny-0", PAUSES[cause])
        assert b.store(2) == [cause]
        assert b.tier.store_breaker.is_open and not b.tier.read_breaker.is_open
        assert b.store(3) == ["breaker"]
        assert b.value("store_drops_total", cause=cause) == 1
        assert b.load(1) == [None]
        assert b.lookup(1, 2) == [True, False]
        until(lambda: probe.calls + fault.calls >= 3)
        assert b.tier.store_breaker.is_open
        fault.on = probe.on = False
        until(lambda: not b.tier.store_breaker.is_open)
        assert b.store(2, 3) == [None, None]
        assert b.load(1, 2, 3) == [None] * 3
        assert b.leftovers() == []


@pytest.mark.parametrize(
    ("call", "code", "cause"),
    [
        ("rename", errno.ENOSYS, "ENOSYS"),
        ("rename", errno.EIO, "EIO"),
        ("fdatasync", errno.EIO, "EIO"),
        ("fdatasync", errno.EINVAL, "other"),
        ("close", errno.EIO, "EIO"),
        ("writev", errno.EIO, "EIO"),
    ],
)
def test_a_store_that_fails_anywhere_leaves_nothing(
    tmp_path: Path, call: str, code: int, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path, fsync="data", probe_interval_ms=60_000.0) as b:
        b.store(1)

        def fail(real: Callable[..., Any], *args: Any, **more: Any) -> Any:
            if call == "close":
                real(*args)
            raise OSError(code, os.strerror(code))

        fault = Fault(monkeypatch, call, ".tmp", fail)
        assert b.store(2) == [cause]
        fault.on = False
        assert b.leftovers() == []
        assert not b.file(2).exists()
        assert b.tier.store_breaker.is_open == (cause == "ENOSYS")
        assert b.load(1) == [None]


def test_errors_of_stores_open_their_breaker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full Curvine pool says EIO, never ENOSPC."""
    with bench(tmp_path, store_threads=1, breaker_errors=3, probe_interval_ms=60_000.0) as b:
        Fault(monkeypatch, "writev", ".tmp", errno.EIO)
        assert b.store(1, 2, 3, 4) == ["EIO", "EIO", "EIO", "breaker"]
        assert b.tier.store_breaker.is_open and not b.tier.read_breaker.is_open
        assert b.leftovers() == []


def test_what_is_there_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        inode = b.file(1).stat().st_ino
        writes = Fault(monkeypatch, "writev", "tmp", lambda real, *a: real(*a))
        assert b.store(1) == [None]
        assert writes.calls == 0
        assert b.file(1).stat().st_ino == inode
        assert b.value("stores_total", outcome="present") == 1


def test_who_was_slower_keeps_the_others_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b, bench(tmp_path) as other:

        def meanwhile(real: Callable[..., int], *args: Any) -> int:
            if first.calls == 1:
                assert other.store(1) == [None]
            return real(*args)

        first = Fault(monkeypatch, "writev", b.tier.writer, meanwhile)
        assert b.store(1) == [None]
        assert b.value("stores_total", outcome="present") == 1
        assert other.value("stores_total", outcome="stored") == 1
        assert b.leftovers() == []
        assert b.load(1) == [None]


def test_one_key_twice_in_a_store_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(tmp_path) as b:
        gate = threading.Event()
        writes = Fault(monkeypatch, "writev", "tmp", lambda real, *a: gate.wait(30) and real(*a))
        answer = b.begin_store((1, bytearray(payload(1))), (1, bytearray(payload(1))))
        until(lambda: writes.calls == 1)
        gate.set()
        assert [slot.cause for slot in answer.wait().slots] == [None, None]
        assert b.load(1) == [None]
        assert b.leftovers() == []


def test_directories_that_the_keeper_removed_are_made_again(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        for turn in range(3):
            assert b.store(turn) == [None]
            assert b.load(turn) == [None]
            shutil.rmtree(tmp_path / "objects")
            shutil.rmtree(tmp_path / "tmp")


def test_directories_that_vanish_just_before_the_rename_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path) as b:
        b.store(1)
        b.file(1).unlink()

        def vanish(real: Callable[..., Any], *args: Any) -> Any:
            if rename.calls == 1:
                b.file(1).parent.rmdir()
            return real(*args)

        rename = Fault(monkeypatch, "rename", ".tmp", vanish)
        assert b.store(1) == [None]
        assert rename.calls == 2
        assert b.load(1) == [None]


def test_an_fsync_policy_of_data_syncs_before_the_object_is_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path, fsync="data") as b:
        seen: list[bool] = []

        def sync(real: Callable[..., Any], fd: int) -> Any:
            seen.append(b.file(1).exists())
            return real(fd)

        Fault(monkeypatch, "fdatasync", ".tmp", sync)
        assert b.store(1) == [None]
        assert seen == [False]


def test_loads_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "YIELD_SECONDS", 30.0)
    with bench(tmp_path, load_threads=1) as b:
        b.store(*range(4))
        order: list[str] = []

        def reads(real: Callable[..., int], fd: int, *rest: Any) -> int:
            order.append("read")
            time.sleep(0.002)
            return real(fd, *rest)

        def writes(real: Callable[..., int], *args: Any) -> int:
            order.append("write")
            return real(*args)

        Fault(monkeypatch, "preadv", "@", reads)
        Fault(monkeypatch, "writev", ".tmp", writes)
        load = b.begin(*range(4))
        until(lambda: bool(order))
        stored = b.begin_store((9, bytearray(payload(9))))
        assert load.causes() == [None] * 4
        assert [s.cause for s in stored.wait().slots] == [None]
        assert order.index("write") >= 3 * 2, "the write began after most of the reads"


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def modes(root: Path) -> tuple[set[str], set[str]]:
    """Modes of the files and of the directories below a root, octal."""
    found = list(root.rglob("*"))
    assert sum(p.is_file() for p in found) == 2
    files, folders = ({oct(p.stat().st_mode & 0o7777) for p in found if p.is_dir() is kind} for kind in (False, True))
    return files, folders


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_the_group_may_read_and_remove_and_nobody_else_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask), bench(tmp_path) as b:
        b.store(1)
        b.tier.uses.flush(b.tier.tree.write_log)
        assert modes(tmp_path) == ({"0o640"}, {"0o2770"})


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files to any group")
def test_what_a_worker_of_another_group_makes_belongs_to_the_group_of_the_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, 10001, 10001)
    with bench(tmp_path) as b:
        b.store(1)
        b.tier.uses.flush(b.tier.tree.write_log)
        assert {p.stat().st_gid for p in tmp_path.rglob("*")} == {10001}
        assert modes(tmp_path) == ({"0o640"}, {"0o2770"})


@pytest.mark.skipif(os.getuid() != 0, reason="only root may have made the directory of another group")
def test_where_the_group_may_not_be_given_everybody_below_the_closed_directory_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EPERM, "not a member")

    os.chown(tmp_path, 10001, 10001)
    monkeypatch.setattr(os, "chown", refuse)
    with bench(tmp_path) as b:
        b.store(1)
        b.tier.uses.flush(b.tier.tree.write_log)
        assert modes(tmp_path) == ({"0o666"}, {"0o777"})


SALTS = [".", "..", "a b", "A", "a", "x\ny", "../../../../etc", "@", "\U0001f600" * 128, "s" * 128, ""]


def test_salts_hit_only_themselves_and_nothing_leaves_the_root(tmp_path: Path) -> None:
    root = tmp_path / "mount" / "v1" / "lob" / ("m" * 134) / "fingerprint"
    with bench(root) as b:
        refs = [Ref(paths.object_name(b"\x01\x02" * 16, 1, 0, salt), salt, LAYOUT, 5000) for salt in SALTS]
        for i, ref in enumerate(refs):
            answer = Answer()
            b.tier.store([(ref, memoryview(bytearray(payload(i, 5000))))], answer)
            assert answer.wait().slots[0].cause is None
        for i, ref in enumerate(refs):
            buffer = bytearray(5000)
            answer = Answer()
            b.tier.load([(ref, memoryview(buffer))], 1, answer)
            assert answer.wait().slots[0].cause is None
            assert buffer == payload(i, 5000)
        found = {p.name.removesuffix(".kv") for p in (root / "objects").rglob("*.kv")}
        assert found == {ref.name for ref in refs}
        outside = [p for p in tmp_path.rglob("*") if p.is_file() and root not in p.parents]
        assert outside == []


def test_a_salt_that_only_shares_its_digest_would_be_told_apart(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        long = "s" * 128
        ref = Ref(paths.object_name(b"\x01\x02" * 16, 1, 0, long), long, LAYOUT, 5000)
        answer = Answer()
        b.tier.store([(ref, memoryview(bytearray(5000)))], answer)
        answer.wait()
        answer = Answer()
        b.tier.load([(Ref(ref.name, "t" * 128, LAYOUT, 5000), memoryview(bytearray(5000)))], 1, answer)
        assert answer.wait().slots[0].cause == "key"


def test_deleting_gives_the_sizes_of_what_was_there(tmp_path: Path) -> None:
    with bench(tmp_path, positive_cache_ms=60_000.0) as b:
        b.store(1)
        assert b.lookup(1) == [True]
        assert b.tier.delete([name(1), name(2)]) == {name(1): 4096 + SIZE}
        assert b.lookup(1) == [False]


@pytest.mark.parametrize("direct", [False, True])
def test_stores_tell_that_they_get_on(tmp_path: Path, direct: bool) -> None:
    with bench(tmp_path, direct_io=direct) as b:
        assert b.tier.stores.progress == 0
        before = time.monotonic()
        assert b.store(1) == [None]
        assert before < b.tier.stores.progress <= time.monotonic()
