"""Hangs and delays: what is held is held, and nothing else."""

# ruff: noqa: PTH208 - names, not paths

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from faultfs.daemon import FaultFs

SOON = 20.0
"""Seconds by which a released operation must have ended; a bound for a lost wake-up, not a figure."""


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(80) as threads:
        yield threads


def outcome(action: Callable[[], object]) -> int:
    try:
        action()
    except OSError as error:
        return error.errno or -1
    return 0


def test_a_hang_holds_what_it_matches_and_nothing_else(fault_fs: FaultFs, pool: ThreadPoolExecutor) -> None:
    """Sixty hung reads: more than libfuse's threads and the kernel's background requests are by default."""
    (fault_fs.backing / "objects").mkdir()
    for number in range(60):
        (fault_fs.backing / f"objects/{number}").write_bytes(b"x" * 10_000)
    (fault_fs.backing / "other").write_bytes(b"free")
    with fault_fs.faults.hang("read", "objects/*"):
        held = [pool.submit((fault_fs.mount / f"objects/{number}").read_bytes) for number in range(60)]
        shown = fault_fs.faults.wait_under_way("read", 60)
        assert {one["path"] for one in shown} == {f"objects/{number}" for number in range(60)}
        assert shown[0]["seconds"] >= shown[-1]["seconds"] > 0
        assert not any(one.done() for one in held)
        assert (fault_fs.mount / "other").read_bytes() == b"free"
        (fault_fs.mount / "new").write_bytes(b"1")
        (fault_fs.mount / "new").rename(fault_fs.mount / "renamed")
        assert (fault_fs.mount / "objects/0").stat().st_size == 10_000
        assert len(os.listdir(fault_fs.mount / "objects")) == 60
    assert [one.result(SOON) for one in held] == [b"x" * 10_000] * 60
    assert fault_fs.faults.under_way() == []


@pytest.mark.parametrize("how", ["remove", "remove with EIO", "then", "release", "clear"])
def test_released_operations_proceed_or_fail(fault_fs: FaultFs, pool: ThreadPoolExecutor, how: str) -> None:
    (fault_fs.backing / "f").write_bytes(b"x")
    path = fault_fs.mount / "f"
    fault = fault_fs.faults.hang("open", "f", then="ESTALE" if how == "then" else "proceed")
    held = pool.submit(outcome, path.read_bytes)
    fault_fs.faults.wait_under_way("open")
    expected = 0
    if how == "remove":
        fault.remove()
    elif how == "remove with EIO":
        fault.remove("EIO")
        expected = errno.EIO
    elif how == "then":
        # The kernel asks once more on ESTALE; the fault is gone by then.
        fault.remove()
        expected = 0
    elif how == "release":
        fault.release("EACCES")
        expected = errno.EACCES
    else:
        fault_fs.faults.clear()
    assert held.result(SOON) == expected
    if how == "release":
        again = pool.submit(outcome, path.read_bytes)
        fault_fs.faults.wait_under_way("open")
        assert not again.done()
        fault.remove()
        assert again.result(SOON) == 0


def test_a_hang_of_everything_holds_even_the_mount_itself(fault_fs: FaultFs, pool: ThreadPoolExecutor) -> None:
    with fault_fs.faults.hang():
        held: list[Future[object]] = [pool.submit(os.statvfs, fault_fs.mount), pool.submit(os.listdir, fault_fs.mount)]
        fault_fs.faults.wait_under_way("", 2)
        assert not any(one.done() for one in held)
    for one in held:
        one.result(SOON)


@pytest.mark.parametrize("op", ["write", "fsync", "rename", "flush", "stat"])
def test_other_operations_hang_too(fault_fs: FaultFs, pool: ThreadPoolExecutor, op: str) -> None:
    def store(path: Path) -> None:
        with path.with_suffix(".tmp").open("wb") as file:
            file.write(b"1")
            file.flush()
            os.fsync(file.fileno())
        path.with_suffix(".tmp").rename(path)

    (fault_fs.backing / "a").mkdir()
    with fault_fs.faults.hang(op, "a/*", count=1):
        held = pool.submit(store, fault_fs.mount / "a/x")
        fault_fs.faults.wait_under_way(op)
        assert not held.done()
        store(fault_fs.mount / "y")
    held.result(SOON)
    assert (fault_fs.backing / "a/x").read_bytes() == b"1"


def test_delay_by_operation_and_by_size(fault_fs: FaultFs) -> None:
    """Lower bounds only: the machine may be slow, but not faster than the delay."""
    (fault_fs.backing / "f").write_bytes(bytes(2_000_000))
    with fault_fs.faults.delay("open", ms=150):
        begin = time.monotonic()
        (fault_fs.mount / "f").read_bytes()
        assert time.monotonic() - begin >= 0.15
    with fault_fs.faults.delay("read", ms_per_mb=100):
        begin = time.monotonic()
        (fault_fs.mount / "f").read_bytes()
        assert time.monotonic() - begin >= 0.2


@pytest.mark.parametrize("fault_fs_options", [("--direct-io",)])
def test_streams_share_a_bandwidth(fault_fs: FaultFs, pool: ThreadPoolExecutor) -> None:
    """Four streams of 1 MB with 10 MB/s in common take 0.4 s, however many there are."""
    for number in range(4):
        (fault_fs.backing / f"{number}").write_bytes(bytes(1_000_000))
    with fault_fs.faults.delay("read", total_mb_s=10):
        begin = time.monotonic()
        for one in [pool.submit((fault_fs.mount / f"{number}").read_bytes) for number in range(4)]:
            assert len(one.result(SOON)) == 1_000_000
        assert time.monotonic() - begin >= 0.4


def test_delayed_operations_run_side_by_side(fault_fs: FaultFs, pool: ThreadPoolExecutor) -> None:
    """A delay sleeps in its own thread: twenty are under way at one moment."""
    (fault_fs.backing / "f").write_bytes(b"1")
    with fault_fs.faults.delay("open", ms=1000):
        held = [pool.submit((fault_fs.mount / "f").read_bytes) for _ in range(20)]
        assert len(fault_fs.faults.wait_under_way("open", 20)) == 20
    assert [one.result(SOON) for one in held] == [b"1"] * 20


def test_stopping_lets_hung_operations_go(fault_fs: FaultFs, pool: ThreadPoolExecutor) -> None:
    (fault_fs.backing / "f").write_bytes(b"1")
    fault_fs.faults.hang("read")
    held = pool.submit(outcome, (fault_fs.mount / "f").read_bytes)
    fault_fs.faults.wait_under_way("read")
    stopper = threading.Thread(target=fault_fs.stop)
    stopper.start()
    assert held.result(SOON) in (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO)
    stopper.join(SOON)
    assert not stopper.is_alive()
