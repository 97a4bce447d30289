"""Wrong, missing and old data."""

# ruff: noqa: PTH208 - names, not paths

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faultfs.daemon import FaultFs

DATA = random.Random(1).randbytes(3_000_000)
direct_io = pytest.mark.parametrize("fault_fs_options", [("--direct-io",)])
both_ways = pytest.mark.parametrize("fault_fs_options", [(), ("--direct-io",)], ids=["page-cache", "direct-io"])


def elsewhere(code: str, *arguments: Path) -> str:
    """What another process prints."""
    program = f"import os, sys, pathlib\na = [pathlib.Path(x) for x in sys.argv[1:]]\n{code}"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_lost_tail(fault_fs: FaultFs) -> None:
    """The writer is told that all was stored; half of it was."""
    with fault_fs.faults.lost_tail(keep=0.5):
        fd = os.open(fault_fs.mount / "f", os.O_CREAT | os.O_WRONLY)
        assert os.write(fd, DATA[:1000]) == 1000
        os.close(fd)
    assert (fault_fs.backing / "f").read_bytes() == DATA[:500]


def test_cut_at_close(fault_fs: FaultFs) -> None:
    with fault_fs.faults.cut(keep=0.25):
        (fault_fs.mount / "f").write_bytes(DATA[:1000])
        _closed(fault_fs)
    assert (fault_fs.backing / "f").read_bytes() == DATA[:250]
    (fault_fs.mount / "g").write_bytes(DATA[:1000])
    assert (fault_fs.backing / "g").read_bytes() == DATA[:1000]


def _closed(fault_fs: FaultFs) -> None:
    """The kernel tells of a last close after close(2) has returned."""
    end = time.monotonic() + 10
    while fault_fs.faults.counters()["calls"].get("release", 0) < 1 or fault_fs.faults.under_way():
        assert time.monotonic() < end
        time.sleep(0.01)


@both_ways
def test_short_read(fault_fs: FaultFs, fault_fs_options: tuple[str, ...]) -> None:
    (fault_fs.backing / "f").write_bytes(DATA)
    fd = os.open(fault_fs.mount / "f", os.O_RDONLY)
    try:
        with fault_fs.faults.short_read(keep=0.5):
            found = os.pread(fd, len(DATA), 0)
            if fault_fs_options:
                assert found == DATA[: len(found)]
                assert 0 < len(found) < len(DATA)
            else:
                # The page cache ends the file there, or fills what lacks with zeros if other requests were under way.
                assert found[:4096] == DATA[:4096]
                assert found != DATA
                assert all(byte in (0, right) for byte, right in zip(found, DATA, strict=False))
    finally:
        os.close(fd)
    assert (fault_fs.mount / "f").read_bytes() == DATA


@both_ways
def test_flipped_bits(fault_fs: FaultFs) -> None:
    (fault_fs.backing / "f").write_bytes(DATA[:4096])
    with fault_fs.faults.flip(bits=3):
        found = (fault_fs.mount / "f").read_bytes()
    wrong = int.from_bytes(found) ^ int.from_bytes(DATA[:4096])
    assert len(found) == 4096
    # read_bytes asks once more at the end of the file, where there are no bytes to turn over.
    assert wrong.bit_count() == 3
    assert (fault_fs.mount / "f").read_bytes() == DATA[:4096]


@direct_io
def test_zeros(fault_fs: FaultFs) -> None:
    (fault_fs.backing / "f").write_bytes(DATA[:4000])
    with fault_fs.faults.zeros(keep=0.25):
        fd = os.open(fault_fs.mount / "f", os.O_RDONLY)
        assert os.pread(fd, 4000, 0) == DATA[:1000] + bytes(3000)
        os.close(fd)


def test_ignored_utime_and_unlink(fault_fs: FaultFs) -> None:
    (fault_fs.backing / "f").write_bytes(b"1")
    before = (fault_fs.backing / "f").stat().st_mtime_ns
    with fault_fs.faults.ignore("utime"), fault_fs.faults.ignore("unlink", count=1):
        os.utime(fault_fs.mount / "f", ns=(1, 2))
        (fault_fs.mount / "f").unlink()
    assert (fault_fs.mount / "f").stat().st_mtime_ns == before


def test_noatime(fault_fs: FaultFs) -> None:
    path, real = fault_fs.mount / "f", fault_fs.backing / "f"
    real.write_bytes(DATA[:100])
    long_ago = 1_500_000_000_000_000_000
    for fault, moved in ((True, False), (False, True)):
        os.utime(real, ns=(long_ago, real.stat().st_mtime_ns))
        if fault:
            with fault_fs.faults.noatime():
                path.read_bytes()
        else:
            path.read_bytes()
            if real.stat().st_atime_ns == long_ago:
                pytest.skip("the backing filesystem is mounted noatime: only the first half can be shown")
        assert (real.stat().st_atime_ns != long_ago) is moved


def test_vanish_after_rename(fault_fs: FaultFs) -> None:
    (fault_fs.mount / "t").write_bytes(b"1")
    with fault_fs.faults.vanish("objects*"):
        (fault_fs.mount / "t").rename(fault_fs.mount / "objects-1")
        assert not (fault_fs.mount / "objects-1").exists()
        (fault_fs.mount / "u").write_bytes(b"1")
        (fault_fs.mount / "u").rename(fault_fs.mount / "other")
        assert (fault_fs.mount / "other").exists()
    (fault_fs.mount / "v").write_bytes(b"1")
    with fault_fs.faults.vanish(seconds=0.3):
        (fault_fs.mount / "v").rename(fault_fs.mount / "objects-2")
        begin = time.monotonic()
        while (fault_fs.mount / "objects-2").exists():
            assert time.monotonic() - begin < 10
            time.sleep(0.02)
        assert time.monotonic() - begin >= 0.2


def test_a_created_file_is_seen_late_by_others(fault_fs: FaultFs) -> None:
    path = fault_fs.mount / "f"
    look = "print(a[0].exists(), os.listdir(a[0].parent))"
    with fault_fs.faults.stale(seconds=60):
        path.write_bytes(b"1")
        assert (path.exists(), os.listdir(fault_fs.mount)) == (True, ["f"])
        assert path.read_bytes() == b"1"
        assert elsewhere(look, path) == "False []"
        # The maker still sees it after another process was told that it is not there.
        assert path.read_bytes() == b"1"
    with fault_fs.faults.stale(seconds=0.2):
        (fault_fs.mount / "g").write_bytes(b"1")
    time.sleep(0.25)
    assert elsewhere("print(a[0].exists())", fault_fs.mount / "g") == "True"


def test_a_removed_file_is_seen_for_a_while_by_others_and_cannot_be_opened(fault_fs: FaultFs) -> None:
    path = fault_fs.mount / "f"
    path.write_bytes(b"123")
    with fault_fs.faults.stale(seconds=60):
        path.unlink()
        assert (path.exists(), os.listdir(fault_fs.mount)) == (False, [])
        assert elsewhere("print(a[0].stat().st_size, os.listdir(a[0].parent))", path) == "3 ['f']"
        code = "try: a[0].read_bytes()\nexcept OSError as error: print(error.errno)"
        assert elsewhere(code, path) == str(errno.ENOENT)


def test_a_made_directory_is_seen_late_and_a_replaced_file_with_its_old_attributes(fault_fs: FaultFs) -> None:
    (fault_fs.mount / "f").write_bytes(b"123")
    (fault_fs.mount / "t").write_bytes(b"12345")
    with fault_fs.faults.stale(seconds=60):
        (fault_fs.mount / "d").mkdir()
        (fault_fs.mount / "d/x").write_bytes(b"1")
        (fault_fs.mount / "t").rename(fault_fs.mount / "f")
        assert (fault_fs.mount / "f").stat().st_size == 5
        assert (
            elsewhere("print(a[0].exists(), a[1].stat().st_size)", fault_fs.mount / "d", fault_fs.mount / "f")
            == "False 3"
        )


def test_timeouts_of_the_kernel_make_changes_from_another_node_late(fault_fs: FaultFs, tmp_path: Path) -> None:
    """Two mounts of one directory, as two nodes; the second believes what it saw for a minute."""
    (tmp_path / "second").mkdir()
    (tmp_path / "second/backing").symlink_to(fault_fs.backing)
    (fault_fs.mount / "f").write_bytes(b"123")
    with FaultFs(tmp_path / "second", "--entry-timeout", "60", "--attr-timeout", "60") as second:
        assert (second.mount / "f").stat().st_size == 3
        (fault_fs.mount / "f").unlink()
        assert not (fault_fs.mount / "f").exists()
        assert (second.mount / "f").exists()
        with pytest.raises(FileNotFoundError):
            (second.mount / "f").read_bytes()


@both_ways
@pytest.mark.parametrize(("old", "new", "seen"), [(3, 5, 3), (5, 3, 3)])
def test_a_replacement_of_another_size_is_cut_to_the_old_size(fault_fs: FaultFs, old: int, new: int, seen: int) -> None:
    path = fault_fs.mount / "f"
    path.write_bytes(b"o" * old)
    (fault_fs.mount / "t").write_bytes(b"n" * new)
    with fault_fs.faults.old_size():
        (fault_fs.mount / "t").rename(path)
        assert path.stat().st_size == old
        assert path.read_bytes() == b"n" * seen
    assert path.read_bytes() == b"n" * new


def test_space_of_removed_files_comes_back_late(fault_fs: FaultFs) -> None:
    size = 64 << 20
    path = fault_fs.mount / "f"
    path.touch()
    with path.open("rb+") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    with fault_fs.faults.late_space(seconds=2):
        full = _free(fault_fs.mount)
        path.unlink()
        # Other programs use the same disk meanwhile: half of it is far more than they do.
        assert _free(fault_fs.mount) - full < size / 2
        end = time.monotonic() + 20
        while _free(fault_fs.mount) - full < size / 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert time.monotonic() - (end - 20) >= 1


def _free(path: Path) -> int:
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def test_made_up_space(fault_fs: FaultFs) -> None:
    with fault_fs.faults.statfs(total_bytes=0, free_bytes=0):
        found = os.statvfs(fault_fs.mount)
        assert (found.f_blocks, found.f_bavail, found.f_bfree) == (0, 0, 0)
        assert found.f_files == os.statvfs(fault_fs.backing).f_files
    with fault_fs.faults.statfs(total_bytes=100 << 30, free_bytes=10 << 30, free_files=7):
        found = os.statvfs(fault_fs.mount)
        assert (found.f_blocks * found.f_frsize, _free(fault_fs.mount), found.f_ffree) == (100 << 30, 10 << 30, 7)


def test_counters(fault_fs: FaultFs) -> None:
    (fault_fs.mount / "f").write_bytes(DATA)
    assert (fault_fs.mount / "f").read_bytes() == DATA
    found = fault_fs.faults.counters()
    assert found["bytes"] == {"write": len(DATA), "read": len(DATA)}
    assert found["calls"]["create"] == found["calls"]["open"] == 1
    assert fault_fs.faults.under_way() == []
