"""pool-disk: only a disk of its own, large enough, writable and of this pool; and the worker's directory on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultfs.daemon import FaultFs
from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.pool import disk
from tiered_kv_cache.pool.disk import Job

from .test_mounts import written

GI = 1 << 30
HOST = "/mnt/nvme0/pool"


@pytest.fixture
def todo(tmp_path: Path) -> Job:
    """A job that finds nothing wrong."""
    path = tmp_path / "disk"
    path.mkdir()
    mountinfo = written(tmp_path, (9, "/pool", str(path)))
    return Job(path, HOST, 4096, 0, "kv-pool", os.getuid(), os.getgid(), mountinfo=mountinfo)


def texts(todo: Job) -> list[str]:
    """All findings."""
    findings, _ = disk.check(todo)
    for finding in findings:
        assert ". Fix: " in str(finding)
    return [str(finding) for finding in findings]


def only(todo: Job, *parts: str) -> None:
    """One finding, with these parts."""
    found = texts(todo)
    assert len(found) == 1, found
    for part in parts:
        assert part in found[0]


def test_a_disk_of_its_own(todo: Job) -> None:
    assert texts(todo) == []
    assert list(todo.path.iterdir()) == [], "the file of the try is gone"
    disk.make(todo)
    about = (todo.path / "kv").stat()
    assert (about.st_mode & 0o777, about.st_uid, about.st_gid) == (0o700, os.getuid(), os.getgid())
    assert texts(todo) == []


@pytest.mark.parametrize(
    ("root", "host", "is_root"),
    [
        ("/pool", "/mnt/nvme0/pool", False),
        ("/", "/mnt/nvme0", False),
        ("/", "/mnt/nvme0/", False),
        ("/nvme0/pool", "/mnt/nvme0/pool", False),
        ("/data/kv", "/mnt/xdata/kv", False),
        ("/mnt/nvme0/pool", "/mnt/nvme0/pool", True),
        ("/mnt/nvme0/pool", "/mnt/nvme0/pool/", True),
        ("/mnt/nvme0/pool", "/mnt//nvme0/pool", True),
        ("/@/mnt/nvme0/pool", "/mnt/nvme0/pool", True),
        ("/ostree/deploy/fedora-coreos/var/lib/pool", "/var/lib/pool", True),
        (r"/mnt/with\040space", "/mnt/with space", True),
        (r"/with\040space", "/mnt/with space", False),
        ("/", "/", True),
    ],
)
def test_the_nodes_root_disk(todo: Job, tmp_path: Path, root: str, host: str, is_root: bool) -> None:
    there = replace(todo, host_path=host, mountinfo=written(tmp_path, (9, root, str(todo.path))))
    if is_root:
        only(
            there,
            "curvine.workers.disk.path:",
            "lies on the node's root disk",
            "curvine.workers.disk.allowRootDisk: true",
        )
    else:
        assert texts(there) == []
    assert texts(replace(there, allow_root_disk=True)) == []


def test_the_last_of_several_mounts_counts(todo: Job, tmp_path: Path) -> None:
    below = written(tmp_path, (8, HOST, str(todo.path)), (9, "/pool", str(todo.path)))
    assert texts(replace(todo, mountinfo=below)) == []


def test_a_path_where_nothing_is_mounted(todo: Job, tmp_path: Path) -> None:
    only(replace(todo, mountinfo=written(tmp_path, (9, "/pool", "/elsewhere"))), "nothing is mounted there", HOST)


@pytest.fixture
def faulty(fault_fs: FaultFs, tmp_path: Path) -> Job:
    """A job on a filesystem whose size and faults a test chooses."""
    return Job(fault_fs.mount, HOST, 10 * GI, GI, "kv-pool", os.getuid(), os.getgid())


def test_a_disk_that_is_too_small(faulty: Job, fault_fs: FaultFs) -> None:
    fault_fs.faults.statfs(total_bytes=11 * GI, free_bytes=11 * GI)
    assert texts(faulty) == []
    fault_fs.faults.clear()
    fault_fs.faults.statfs(total_bytes=9 * GI, free_bytes=9 * GI)
    only(faulty, "curvine.workers.disk.size: 10 GiB", f"{2 * GI} bytes are missing", f"to at most {8 * GI}")


def test_a_disk_that_others_fill(faulty: Job, fault_fs: FaultFs) -> None:
    fault_fs.faults.statfs(total_bytes=20 * GI, free_bytes=9 * GI)
    only(faulty, f"{GI} bytes are missing", "taken by other files", f"to at most {9 * GI}")


def test_what_the_pool_holds_counts_as_its_own(faulty: Job, fault_fs: FaultFs) -> None:
    blocks = fault_fs.backing / "kv" / "kv-pool" / "blocks"
    blocks.mkdir(parents=True)
    for number in range(4):
        (blocks / str(number)).write_bytes(b"x" * (1 << 20))
    fault_fs.faults.statfs(total_bytes=20 * GI, free_bytes=10 * GI - (4 << 20))
    assert texts(faulty) == []
    (blocks / "3").unlink()
    held = sum(path.lstat().st_blocks for path in (blocks, blocks.parent, *blocks.iterdir())) * 512
    only(faulty, f"{(4 << 20) - held} bytes are missing")


def test_a_sparse_file_counts_by_its_blocks(todo: Job) -> None:
    (todo.path / "kv").mkdir()
    with (todo.path / "kv" / "sparse").open("wb") as file:
        file.truncate(GI)
    held, complete = disk._held(todo.path / "kv", GI, 60)
    assert complete
    assert held < 1 << 20


def test_a_count_without_end_is_no_finding(todo: Job) -> None:
    (todo.path / "kv" / "kv-pool").mkdir(parents=True)
    size = 1 << 62
    fits = replace(todo, size=os.statvfs(todo.path).f_blocks * os.statvfs(todo.path).f_frsize)
    findings, lines = disk.check(fits, -1.0)
    assert findings == []
    assert "too many files to count" in lines[-1]
    assert len(disk.check(replace(todo, size=size), -1.0)[0]) == 1


@pytest.mark.parametrize(
    ("break_it", "part"),
    [
        (lambda faults: faults.read_only(), "makes it read-only"),
        (lambda faults: faults.enospc(), "free space"),
        (lambda faults: faults.eio("fsync"), "mend or replace the disk"),
        (lambda faults: faults.eio("write"), "mend or replace the disk"),
    ],
)
def test_a_disk_that_cannot_be_written(
    faulty: Job, fault_fs: FaultFs, break_it: Callable[[Any], object], part: str
) -> None:
    with break_it(fault_fs.faults):  # type: ignore[attr-defined]
        only(replace(faulty, size=4096, reserve=0), "4096 bytes cannot be written", part)
    assert texts(replace(faulty, size=4096, reserve=0)) == []
    assert list(fault_fs.backing.iterdir()) == [], "also after an error nothing stays"


def test_what_a_broken_off_try_left_is_no_hindrance(todo: Job) -> None:
    (todo.path / disk.CHECK_FILE).symlink_to("/etc/passwd")
    before = Path("/etc/passwd").stat().st_mtime_ns
    assert texts(todo) == []
    assert Path("/etc/passwd").stat().st_mtime_ns == before


def test_blocks_of_other_pools(todo: Job) -> None:
    for name in ("kv-pool", "old-b", "old-a"):
        (todo.path / "kv" / name).mkdir(parents=True)
        (todo.path / "kv" / name / "version").write_text("1")
    (todo.path / "kv" / "no-pool").mkdir()
    (todo.path / "kv" / "version").write_text("a file of that name is none")
    only(
        todo,
        "cluster id old-a, old-b; this release's is kv-pool",
        f"rm -r -- {HOST}/kv/old-a; rm -r -- {HOST}/kv/old-b",
    )


@pytest.mark.parametrize("kind", ["link", "file"])
def test_something_else_in_the_directorys_place(todo: Job, tmp_path: Path, kind: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    if kind == "link":
        (todo.path / "kv").symlink_to(tmp_path / "elsewhere")
    else:
        (todo.path / "kv").write_text("x")
    only(todo, f"{HOST}/kv is no directory")
    with pytest.raises(OSError):
        disk.make(todo)


def test_everything_at_once(faulty: Job, fault_fs: FaultFs, tmp_path: Path) -> None:
    (fault_fs.backing / "kv" / "old").mkdir(parents=True)
    (fault_fs.backing / "kv" / "old" / "version").write_text("1")
    fault_fs.faults.statfs(total_bytes=10 * GI, free_bytes=GI)
    fault_fs.faults.read_only()
    there = replace(faulty, mountinfo=written(tmp_path, (9, HOST, str(fault_fs.mount))), prefix="x.y")
    found = texts(there)
    assert len(found) == 5, found
    assert all("curvine.workers" not in text for text in found)


def test_arguments() -> None:
    with pytest.raises(UsageError) as caught:
        disk.validate(Job(Path("a"), "/a/../b", 0, -1, "", -1, 0))
    assert len(str(caught.value).splitlines()) == 6


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="gives files to other users")


@needs_root
def test_a_directory_of_another_user_is_given_with_all_in_it(todo: Job, tmp_path: Path) -> None:
    mine = replace(todo, user=10001, group=10002)
    inside = todo.path / "kv" / "kv-pool"
    inside.mkdir(parents=True)
    (inside / "block").write_text("x")
    (inside / "link").symlink_to(tmp_path)
    todo.path.joinpath("kv").chmod(0o755)
    disk.make(mine)
    for path in (inside.parent, inside, inside / "block", inside / "link"):
        about = path.lstat()
        assert (about.st_uid, about.st_gid) == (10001, 10002)
    assert inside.parent.stat().st_mode & 0o777 == 0o700
    assert tmp_path.stat().st_uid == 0, "links are not followed"
    os.chown(inside / "block", 0, 0)
    disk.make(mine)
    assert (inside / "block").stat().st_uid == 0, "once it belongs to the worker nothing below is touched"


@needs_root
@pytest.mark.parametrize("own_disk", [True, False])
def test_as_an_init_container_with_three_capabilities(tmp_path: Path, own_disk: bool) -> None:
    host, path = tmp_path / "host", tmp_path / "path"
    (host / "pool").mkdir(parents=True)
    (host / "pool").chmod(0o000)
    os.chown(host / "pool", 10001, 10001)
    path.mkdir()
    # In a mount namespace of its own: what kubelet does with a hostPath. A tmpfs is the disk of its own.
    script = f"""
        {f"mount -t tmpfs disk {host}; mkdir -m 700 {host}/pool" if own_disk else ":"}
        mount --bind {host}/pool {path}
        setpriv --bounding-set=-all,+chown,+dac_override,+fowner --inh-caps=-all {sys.executable} -m tiered_kv_cache pool-disk \
            --path {path} --host-path {host}/pool --size 4096 --cluster-id kv-pool --user 10001 --group 10001
        code=$?
        stat -c '%u:%g %a' {path}/kv
        exit $code
    """
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script], capture_output=True, text=True, check=False, timeout=60,
        env=os.environ | {"PYTHONPATH": str(Path(disk.__file__).parents[2])},
    )  # fmt: skip
    if own_disk:
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "10001:10001 700"
    else:
        assert done.returncode == 1
        assert "lies on the node's root disk" in done.stderr
        assert not (host / "pool" / "kv").exists()
