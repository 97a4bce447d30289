"""Old versions go, the current and the one before stay, other kinds are left alone."""

from __future__ import annotations

import os
from pathlib import Path

from local_cluster import cache


def _made(path: Path, age_s: float) -> Path:
    path.mkdir()
    os.utime(path, (1_700_000_000 - age_s, 1_700_000_000 - age_s))
    return path


def test_two_versions_stay(tmp_path: Path) -> None:
    old, older, other = (
        _made(tmp_path / name, age) for name, age in (("node-a", 10), ("node-b", 20), ("rootfs-a", 99))
    )
    current = _made(tmp_path / "node-c", 30)
    cache.use(current)
    assert current.exists()
    assert old.exists()
    assert not older.exists()
    assert other.exists()


def test_a_folder_of_versions(tmp_path: Path) -> None:
    versions = [_made(tmp_path / name, age) for age, name in enumerate(("aa", "bb", "cc"))]
    cache.use(versions[2])
    assert [path.exists() for path in versions] == [True, False, True]
