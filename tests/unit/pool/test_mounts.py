"""Lines of mountinfo: which mount is seen at a place, and what of its filesystem."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiered_kv_cache.pool import mounts
from tiered_kv_cache.pool.mounts import Mount

LINE = "{number} 30 259:1 {root} {point} rw,relatime shared:9 master:1 - ext4 /dev/nvme1n1 rw"

DISK = ("ext4", "/dev/nvme1n1")


def written(tmp: Path, *lines: tuple[int, str, str]) -> Path:
    file = tmp / "mountinfo"
    file.write_text("".join(LINE.format(number=n, root=r, point=p) + "\n" for n, r, p in lines))
    return file


def test_of_several_at_one_place_the_last_is_seen(tmp_path: Path) -> None:
    file = written(tmp_path, (1, "/", "/"), (2, "/a", "/disk"), (3, "/b", "/disk"), (4, "/c", "/disk/below"))
    assert mounts.at("/disk", file) == Mount(3, "/b", "/disk", *DISK)


def test_nothing_there(tmp_path: Path) -> None:
    assert mounts.at("/dis", written(tmp_path, (2, "/a", "/disk"))) is None


@pytest.mark.parametrize(
    ("shown", "path"),
    [(r"/a\040b", "/a b"), (r"/a\011b", "/a\tb"), (r"/a\012b", "/a\nb"), (r"/a\134040b", r"/a\040b"), ("/ä", "/ä")],
)
def test_octal_escapes(tmp_path: Path, shown: str, path: str) -> None:
    assert mounts.at(path, written(tmp_path, (7, shown, shown))) == Mount(7, path, path, *DISK)


def test_the_real_file() -> None:
    found = mounts.at("/proc")
    assert found is not None
    assert found.root == "/"


def test_the_mount_that_a_path_lies_in(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 8:1 / / rw - ext4 /dev/vda rw\n"
        "2 1 0:5 / /mnt/kv rw shared:1 master:2 - nfs4 fs-1:/ rw\n"
        "3 2 0:6 /tenants/a\\040b /mnt/kv/fs rw - fuse.curvine curvine rw\n"
        "4 1 0:7 / /mnt/kv-2 rw - tmpfs none rw\n"
    )
    for path, kind, source in (
        ("/mnt/kv", "nfs4", "fs-1:/"),
        ("/mnt/kv/v1", "nfs4", "fs-1:/"),
        ("/mnt/kv/fs", "fuse.curvine", "curvine"),
        ("/mnt/kv-2/x", "tmpfs", "none"),
        ("/srv", "ext4", "/dev/vda"),
    ):
        found = mounts.over(path, table)
        assert found is not None
        assert (found.kind, found.source) == (kind, source), path
