"""Without faults it is a filesystem like the one behind it, also in the corners that the L2 tier uses."""

# ruff: noqa: PTH208 - names, not paths

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import random
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from faultfs.daemon import FaultFs

both_ways = pytest.mark.parametrize("fault_fs_options", [(), ("--direct-io",)], ids=["page-cache", "direct-io"])


@both_ways
def test_bytes_come_back(fault_fs: FaultFs) -> None:
    for size in (0, 1, 4095, 4096, (1 << 20) + 1, 9_000_000):
        data = random.Random(size).randbytes(size)
        (fault_fs.mount / "x").write_bytes(data)
        assert (fault_fs.backing / "x").read_bytes() == data
        assert (fault_fs.mount / "x").read_bytes() == data
        assert (fault_fs.mount / "x").stat().st_size == size


def test_reads_and_writes_at_offsets(fault_fs: FaultFs) -> None:
    """Pieces written in any order by several descriptors give the same file as in the backing directory's own filesystem."""
    chance = random.Random(5)
    expected = bytearray(3_000_000)
    path = fault_fs.mount / "x"
    fds = [os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2)]
    os.ftruncate(fds[0], len(expected))
    for turn in range(200):
        begin, size = chance.randrange(len(expected)), chance.randrange(70_000)
        piece = chance.randbytes(min(size, len(expected) - begin))
        expected[begin : begin + len(piece)] = piece
        assert os.pwritev(fds[turn % 2], [piece], begin) == len(piece)
        begin = chance.randrange(len(expected))
        found = bytearray(50_000)
        done = os.preadv(fds[1 - turn % 2], [found], begin)
        assert found[:done] == expected[begin : begin + 50_000]
    for fd in fds:
        os.close(fd)
    assert (fault_fs.backing / "x").read_bytes() == expected


def test_rename_over_an_open_file_leaves_its_reader_the_old_bytes(fault_fs: FaultFs) -> None:
    (fault_fs.mount / "x").write_bytes(b"old")
    with (fault_fs.mount / "x").open("rb", buffering=0) as reader:
        (fault_fs.mount / "y").write_bytes(b"newer")
        (fault_fs.mount / "y").rename(fault_fs.mount / "x")
        assert reader.read(100) == b"old"
    assert (fault_fs.mount / "x").read_bytes() == b"newer"
    assert os.listdir(fault_fs.backing) == ["x"]


def test_an_open_file_that_was_removed_is_still_read_and_leaves_nothing(fault_fs: FaultFs) -> None:
    (fault_fs.mount / "x").write_bytes(b"bytes")
    with (fault_fs.mount / "x").open("rb", buffering=0) as reader:
        (fault_fs.mount / "x").unlink()
        assert os.listdir(fault_fs.backing) == []
        assert reader.read(100) == b"bytes"


def test_rename_flags_are_handed_on(fault_fs: FaultFs) -> None:
    """A rename that must not replace does not: who drops the flag would lose a file."""
    (fault_fs.mount / "x").write_bytes(b"x")
    (fault_fs.mount / "y").write_bytes(b"y")
    libc = ctypes.CDLL(None, use_errno=True)
    paths = [os.fsencode(fault_fs.mount / name) for name in "xy"]
    no_replace = 1
    assert libc.renameat2(-100, paths[0], -100, paths[1], no_replace) == -1
    assert ctypes.get_errno() == errno.EEXIST
    assert (fault_fs.mount / "y").read_bytes() == b"y"


def test_names(fault_fs: FaultFs) -> None:
    """Bytes that are not UTF-8, a newline, 255 bytes; one more is refused as the backing filesystem does."""
    names = [b"\xff\xfe", b"a\nb", b" ", "ä".encode(), b"n" * 255]
    for name in names:
        Path(os.fsdecode(os.fsencode(fault_fs.mount) + b"/" + name)).write_bytes(name)
    assert sorted(os.listdir(os.fsencode(fault_fs.mount))) == sorted(names)
    assert sorted(os.listdir(os.fsencode(fault_fs.backing))) == sorted(names)
    with pytest.raises(OSError) as caught:
        (fault_fs.mount / ("n" * 256)).write_bytes(b"")
    assert caught.value.errno == errno.ENAMETOOLONG


def test_directories_links_and_their_errors(fault_fs: FaultFs) -> None:
    m = fault_fs.mount
    (m / "a/b").mkdir(parents=True)
    (m / "a/b/x").write_bytes(b"1")
    actions: dict[int, Callable[[], object]] = {
        errno.EEXIST: (m / "a").mkdir,
        errno.ENOTEMPTY: (m / "a/b").rmdir,
        errno.ENOENT: (m / "none").unlink,
        errno.ENOTDIR: (m / "a/b/x/y").stat,
        errno.EISDIR: (m / "a").read_bytes,
    }
    for number, action in actions.items():
        with pytest.raises(OSError) as caught:
            action()
        assert caught.value.errno == number
    (m / "link").symlink_to("a/b/x")
    assert (m / "link").read_bytes() == b"1"
    assert (m / "link").readlink() == Path("a/b/x")
    (m / "hard").hardlink_to(m / "a/b/x")
    assert (m / "hard").stat().st_ino == (m / "a/b/x").stat().st_ino
    assert (m / "hard").stat().st_nlink == 2
    (m / "a").rename(m / "c")
    assert (m / "c/b/x").read_bytes() == b"1"
    assert {e.name: e.is_dir(follow_symlinks=False) for e in os.scandir(m)} == {"c": True, "link": False, "hard": False}


def test_two_thousand_entries_are_listed_once_each(fault_fs: FaultFs) -> None:
    for number in range(2000):
        (fault_fs.backing / f"name-of-some-length-{number:06}").touch()
    assert sorted(os.listdir(fault_fs.mount)) == sorted(os.listdir(fault_fs.backing))


def test_attributes(fault_fs: FaultFs) -> None:
    path, real = fault_fs.mount / "x", fault_fs.backing / "x"
    path.touch()
    os.utime(path, ns=(1_600_000_000_123_456_789, 1_700_000_000_987_654_321))
    assert (real.stat().st_atime_ns, real.stat().st_mtime_ns) == (1_600_000_000_123_456_789, 1_700_000_000_987_654_321)
    assert path.stat().st_mtime_ns == 1_700_000_000_987_654_321
    # touch -a: now for one time, the other as it is.
    subprocess.run(["touch", "-a", str(path)], check=True)
    assert real.stat().st_mtime_ns == 1_700_000_000_987_654_321
    assert abs(real.stat().st_atime - os.stat_result(real.stat()).st_ctime) < 1
    path.chmod(0o640)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    before = os.umask(0o027)
    try:
        (fault_fs.mount / "made").touch(mode=0o666)
        (fault_fs.mount / "folder").mkdir(mode=0o777)
    finally:
        os.umask(before)
    assert stat.S_IMODE((fault_fs.backing / "made").stat().st_mode) == 0o640
    assert stat.S_IMODE((fault_fs.backing / "folder").stat().st_mode) == 0o750


def test_space_is_that_of_the_backing_filesystem(fault_fs: FaultFs) -> None:
    seen, real = os.statvfs(fault_fs.mount), os.statvfs(fault_fs.backing)
    assert (seen.f_blocks, seen.f_frsize, seen.f_files) == (real.f_blocks, real.f_frsize, real.f_files)
    assert seen.f_bavail > 0


def test_append_o_direct_mmap_lock_and_preallocation(fault_fs: FaultFs) -> None:
    path = fault_fs.mount / "x"
    with path.open("ab") as file:
        file.write(b"a" * 4096)
    with path.open("ab") as file:
        file.write(b"b" * 4096)
    assert (fault_fs.backing / "x").read_bytes() == b"a" * 4096 + b"b" * 4096
    aligned = mmap.mmap(-1, 8192)
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    try:
        assert os.preadv(fd, [aligned], 0) == 8192
        assert aligned[4096:] == b"b" * 4096
        aligned[:] = b"c" * 8192
        assert os.pwritev(fd, [aligned], 0) == 8192
        os.posix_fallocate(fd, 0, 20_000)
    finally:
        os.close(fd)
    assert (fault_fs.backing / "x").read_bytes() == b"c" * 8192 + bytes(20_000 - 8192)
    with path.open("rb") as reader, mmap.mmap(reader.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[8191:8193] == b"c\0"
    with path.open("rb") as one, path.open("rb") as two:
        fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(BlockingIOError):
            fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.skipif(os.geteuid() != 0, reason="other users need --allow-other, which only root may ask for")
@pytest.mark.parametrize("fault_fs_options", [("--allow-other",)])
def test_files_belong_to_who_made_them(fault_fs: FaultFs) -> None:
    """Lines of business have uids of their own; modes are checked."""
    for folder in fault_fs.mount.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o001)
    fault_fs.backing.chmod(0o777)
    (fault_fs.mount / "root").write_bytes(b"root's")
    (fault_fs.mount / "root").chmod(0o600)
    script = 'printf 1 >"$0/f"; mkdir "$0/d"; cat "$0/root" 2>/dev/null || echo refused'
    done = subprocess.run(
        ["sh", "-c", script, str(fault_fs.mount)],
        user=12345,
        group=23456,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"refused\n", done.stderr
    assert {((fault_fs.backing / n).stat().st_uid, (fault_fs.backing / n).stat().st_gid) for n in "fd"} == {
        (12345, 23456)
    }


@both_ways
def test_many_threads_at_once(fault_fs: FaultFs) -> None:
    """Eight threads write, rename, read and remove files of their own and one in common; all bytes are right."""
    wrong: list[object] = []

    def work(number: int) -> None:
        chance = random.Random(number)
        for turn in range(15):
            data = bytes([number]) * chance.randrange(1, 600_000)
            partial, own = fault_fs.mount / f"{number}.tmp", fault_fs.mount / f"{number}-{turn % 3}"
            for target in (own, fault_fs.mount / "common"):
                partial.write_bytes(data)
                partial.rename(target)
            if own.read_bytes() != data:
                wrong.append((number, turn))
            try:
                common = (fault_fs.mount / "common").read_bytes()
            except OSError as error:
                # libfuse knows a file by its path: an open that meets a replacement may be stale, as on NFS.
                assert error.errno == errno.ESTALE
                continue
            if len(set(common)) != 1:
                wrong.append(("common", number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)
    assert not list(fault_fs.backing.glob("*.tmp"))
