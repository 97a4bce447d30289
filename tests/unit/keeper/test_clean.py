"""Temporary files, set-aside ones, empty directories, and everything that is not the keeper's."""

from __future__ import annotations

import time
from pathlib import Path

from .volume import BLOCK, Volume, cleaned, clock, told

DEAD, LIVE = "engine-0.00000001", "engine-0.00000002"


def test_temporary_files_of_dead_writers_go_and_those_of_living_ones_stay(volume: Volume) -> None:
    root = volume.root()
    dead, stuck = root.tmp("7.tmp", DEAD), root.tmp("1.tmp", LIVE)
    keeper = volume.keeper(grace={"tmp": "15m"})
    keeper.round()
    assert (dead.exists(), stuck.exists()) == (True, True)
    clock(keeper).advance(1000)
    # The living writer's other sign of life: a log, whose time is that of the filesystem.
    log = root.log(time.time() + 1000, "use", "x", writer=LIVE)
    keeper.round()
    assert (dead.exists(), stuck.exists()) == (False, True)
    assert not dead.parent.exists()
    assert cleaned(keeper, "tmp") == 1
    assert keeper.x.table.of()[0].tmp_files == 1
    assert log.parent.exists()


def test_set_aside_objects_go_at_once(volume: Volume) -> None:
    root = volume.root()
    bad, tmp = root.tmp("3.bad"), root.tmp("4.tmp")
    keeper = volume.keeper()
    keeper.round()
    assert (bad.exists(), tmp.exists()) == (False, True)


def test_temporary_files_count_against_quotas(volume: Volume) -> None:
    root = volume.root()
    root.put(*range(5), mtime=time.time() - 100)
    root.tmp("0.tmp", size=10 * BLOCK)
    keeper = volume.keeper(quota=10 * BLOCK)
    keeper.round()
    assert root.there(*range(5)) == []


def test_empty_directories_go_when_old_and_the_roots_stay(volume: Volume) -> None:
    root = volume.root()
    root.put("a")
    keeper = volume.keeper(grace={"directory": "1h"})
    keeper.round()
    root.file("a").unlink()
    keeper.round()
    assert root.file("a").parent.exists()
    clock(keeper).advance(4000)
    for _ in range(2):
        keeper.round()
    assert [p.name for p in (root.path / "objects").iterdir()] == []
    assert root.path.exists()


def test_unknown_files_are_told_once_counted_and_never_touched(volume: Volume, tmp_path: Path) -> None:
    root = volume.root()
    root.put("a", mtime=time.time() - 100)
    strange = {
        volume.mount / "v1" / "README": b"hello", volume.mount / "v1" / "Retail" / "x": b"1",
        root.path.parent / "notes.txt": b"2", root.path / "chunk.data": b"3", root.path / "objects" / "x.kv": b"4",
        root.path / "objects" / "ab" / "cd.kv": b"5", root.path / "tmp" / "7.tmp": b"6",
        root.file("a").parent / "other.kv": b"7", root.file("a").with_suffix(".tmp"): b"8",
        root.path / "use" / DEAD / "0.txt": b"9", root.path / "tmp" / DEAD / "x.tmp": b"10",
        root.file("a").parent / ("new\nline" + root.file("a").name): b"11",
    }  # fmt: skip
    for path, content in strange.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    keeper = volume.keeper(quota=1, ttl="1s", grace={"orphan": 1, "tmp": 1, "directory": 1, "nfs": 1})
    keeper.round()
    clock(keeper).advance(1_000_000)
    keeper.round()
    keeper.round()
    assert {path: path.read_bytes() for path in strange} == strange
    assert root.there("a") == []
    assert keeper.state.snapshot.unknown == {"": 2, "retail": 10}
    assert told(keeper).reasons().count("UnknownFile") == len(strange)
    assert all("\n" not in line for line in told(keeper).lines)


def test_files_of_the_other_adapter_are_known_and_left_alone(volume: Volume) -> None:
    root = volume.root()
    (root.path / "config.json").write_text("{}")
    (root.path / ".tmp-engine-0").mkdir()
    keeper = volume.keeper()
    keeper.round()
    assert keeper.state.snapshot.unknown == {"": 0, "retail": 0}


def test_what_the_storage_check_writes_is_known_and_left_alone(volume: Volume) -> None:
    root = volume.root()
    file = root.path.parents[1] / ".storage-check" / "kv.demo" / "run-1" / "0.data"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    keeper = volume.keeper(ttl="1s", grace={"orphan": 1, "directory": 1})
    keeper.round()
    clock(keeper).advance(1_000_000)
    keeper.round()
    assert file.exists()
    assert keeper.state.snapshot.unknown == {"": 0, "retail": 0}


def test_a_dry_run_changes_nothing_and_tells_what_would_go(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    for i in range(10):
        root.put(i, mtime=now - 1000 + i)
    root.log(now - 5, "use", 0)
    root.tmp("0.bad")
    before = volume.everything()
    keeper = volume.keeper(dry=True, quota=10 * BLOCK)
    keeper.round()
    assert volume.everything() == before
    # Ten objects and the set-aside one, which would go first.
    assert sum(keeper.x.counts.removed.values()) == 3
    assert cleaned(keeper, "bad") == 1


def test_a_volume_without_a_tree_is_left_as_it_is(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "mount")
    (volume.mount / "v1").rmdir()
    keeper = volume.keeper(quota=1)
    keeper.round()
    assert list(volume.mount.iterdir()) == []
    assert keeper.x.table.complete
