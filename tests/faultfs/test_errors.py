"""Errors by operation, pattern, probability and count; and that nothing else is touched."""

# ruff: noqa: PTH208 - names, not paths

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from faultfs.client import Refused
from faultfs.daemon import FaultFs

Action = Callable[[Path], object]

ACTIONS: dict[str, Action] = {
    "stat": lambda m: (m / "f").stat(),
    "open": lambda m: (m / "f").open("rb"),
    "open_write": lambda m: (m / "f").open("ab"),
    "create": lambda m: (m / "new").touch(),
    "read": lambda m: _read(m / "f"),
    "write": lambda m: (m / "f").write_bytes(b"12"),
    "flush": lambda m: os.close(os.open(m / "f", os.O_RDONLY)),
    "fsync": lambda m: _fsync(m / "f"),
    "truncate": lambda m: os.truncate(m / "f", 1),
    "fallocate": lambda m: _fallocate(m / "f"),
    "readdir": os.listdir,
    "mkdir": lambda m: (m / "d").mkdir(),
    "unlink": lambda m: (m / "f").unlink(),
    "rmdir": lambda m: (m / "folder").rmdir(),
    "rename": lambda m: (m / "f").rename(m / "g"),
    "link": lambda m: (m / "h").hardlink_to(m / "f"),
    "symlink": lambda m: (m / "s").symlink_to("f"),
    "readlink": lambda m: (m / "l").readlink(),
    "chmod": lambda m: (m / "f").chmod(0o600),
    "chown": lambda m: os.chown(m / "f", os.geteuid(), os.getegid()),
    "utime": lambda m: os.utime(m / "f"),
    "statfs": os.statvfs,
}


def _read(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.pread(fd, 10, 0)
    finally:
        os.close(fd)


def _fsync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file)


def _fallocate(path: Path) -> None:
    with path.open("rb+") as file:
        os.posix_fallocate(file.fileno(), 0, 100)


def fails(action: Action, mount: Path) -> int:
    """The errno with which it fails, 0 if it does not."""
    try:
        action(mount)
    except OSError as error:
        return error.errno or -1
    return 0


@pytest.mark.parametrize("op", ACTIONS)
def test_each_operation_fails_alone_and_works_again(fault_fs: FaultFs, op: str) -> None:
    (fault_fs.backing / "f").write_bytes(b"1")
    (fault_fs.backing / "folder").mkdir()
    (fault_fs.backing / "l").symlink_to("f")
    with fault_fs.faults.eio(op) as fault:
        # A file is looked up before most operations: only what was asked for may fail.
        assert fails(ACTIONS[op], fault_fs.mount) == errno.EIO
        assert fault.hits >= 1
    assert fault_fs.faults.counters()["errors"][f"{op.removesuffix('_write')} EIO"] >= 1
    (fault_fs.backing / "new").unlink(missing_ok=True)
    assert fails(ACTIONS[op], fault_fs.mount) == 0


@pytest.mark.parametrize(
    "name", "EIO ENOSPC EROFS EACCES ENOTCONN ESTALE EDQUOT ETIMEDOUT ENODATA EAGAIN ENOSYS".split()
)
def test_errno(fault_fs: FaultFs, name: str) -> None:
    (fault_fs.backing / "f").write_bytes(b"1")
    with fault_fs.faults.error(name, "read"):
        assert fails(ACTIONS["read"], fault_fs.mount) == getattr(errno, name)
    assert (fault_fs.mount / "f").read_bytes() == b"1"


def test_pattern(fault_fs: FaultFs) -> None:
    for name in ("objects", "tmp"):
        (fault_fs.backing / name).mkdir()
        (fault_fs.backing / name / "x").write_bytes(b"1")
    with fault_fs.faults.eio("read", "objects/**"):
        assert fails(lambda m: (m / "objects/x").read_bytes(), fault_fs.mount) == errno.EIO
        assert (fault_fs.mount / "tmp/x").read_bytes() == b"1"
        # A rename meets the pattern by its source or its target.
        with fault_fs.faults.eio("rename", "objects/**"):
            assert fails(lambda m: (m / "tmp/x").rename(m / "objects/y"), fault_fs.mount) == errno.EIO


@pytest.mark.parametrize("fault_fs_options", [("--direct-io",)])
def test_count_and_skip(fault_fs: FaultFs) -> None:
    (fault_fs.backing / "f").write_bytes(b"1")
    # Through the page cache a read that failed would be asked again by the kernel.
    with fault_fs.faults.eio("read", count=2, skip=1):
        assert [fails(ACTIONS["read"], fault_fs.mount) for _ in range(5)] == [0, errno.EIO, errno.EIO, 0, 0]


def test_probability(fault_fs: FaultFs) -> None:
    (fault_fs.backing / "f").write_bytes(b"1")
    with fault_fs.faults.eio("open", probability=0.3):
        failed = sum(fails(ACTIONS["open"], fault_fs.mount) != 0 for _ in range(200))
    # The chance is seeded; five standard deviations.
    assert 27 <= failed <= 93


def test_read_only_lets_reads_through(fault_fs: FaultFs) -> None:
    (fault_fs.backing / "f").write_bytes(b"1")
    with fault_fs.faults.read_only():
        assert (fault_fs.mount / "f").read_bytes() == b"1"
        assert os.listdir(fault_fs.mount) == ["f"]
        for op in ("create", "write", "mkdir", "unlink", "rename", "utime", "truncate"):
            assert fails(ACTIONS[op], fault_fs.mount) == errno.EROFS, op
    assert (fault_fs.backing / "f").read_bytes() == b"1"


def test_a_full_disk_leaves_what_was_stored_before(fault_fs: FaultFs) -> None:
    with fault_fs.faults.enospc("write", skip=2), pytest.raises(OSError) as caught:
        fd = os.open(fault_fs.mount / "f", os.O_CREAT | os.O_WRONLY)
        try:
            for number in range(5):
                assert os.pwrite(fd, b"x" * 100, number * 100) == 100
        finally:
            os.close(fd)
    assert caught.value.errno == errno.ENOSPC
    assert (fault_fs.backing / "f").read_bytes() == b"x" * 200


def test_replaced_and_removed_files_leave_their_readers_estale(fault_fs: FaultFs) -> None:
    for name in "abcd":
        (fault_fs.backing / name).write_bytes(name.encode() * 100_000)
    with (
        (fault_fs.mount / "a").open("rb", buffering=0) as replaced,
        (fault_fs.mount / "c").open("rb", buffering=0) as removed,
        (fault_fs.mount / "d").open("rb", buffering=0) as other,
        fault_fs.faults.stale_handles(),
    ):
        (fault_fs.mount / "b").rename(fault_fs.mount / "a")
        (fault_fs.mount / "c").unlink()
        for file in (replaced, removed):
            with pytest.raises(OSError) as caught:
                file.read(10)
            assert caught.value.errno == errno.ESTALE
        assert other.read(1) == b"d"
        assert (fault_fs.mount / "a").read_bytes() == b"b" * 100_000


def test_wrong_requests_are_told_all_that_is_wrong(fault_fs: FaultFs) -> None:
    with pytest.raises(Refused) as caught:
        fault_fs.faults.add(
            "error", "read fly", "a[", params={"errno": "EWHAT", "x": 1}, probability=2, count=-1, often=3
        )
    for part in ("often: unknown", "'fly'", "EWHAT", "params.x: unknown", "probability=2", "count=-1", "fix: "):
        assert part in str(caught.value)
    for request, part in (
        ({"do": "dance"}, "do='dance'"),
        ({"do": "add"}, "rule=None"),
        ({"do": "add", "rule": {"kind": "no"}}, "kind='no'"),
        ({"do": "remove", "number": "x"}, "number='x'"),
        ({"do": "clear", "outcome": "EWHAT"}, "outcome='EWHAT'"),
    ):
        with pytest.raises(Refused, match=part):
            fault_fs.faults.ask(**request)
    assert fault_fs.faults.ask("rules")["rules"] == []
    assert (fault_fs.mount / "still").write_bytes(b"works") == 5
