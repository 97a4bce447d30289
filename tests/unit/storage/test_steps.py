"""The check on real filesystems: sound ones pass, and each fault is told as what it is, with what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from faultfs.daemon import FaultFs
from tiered_kv_cache.storage import area, judge, steps
from tiered_kv_cache.storage.checks import ORDER
from tiered_kv_cache.storage.peer import ABSENT, ENDED, FAILED, UNKNOWN, Peer

from .pair import bad, both, job, left, row, run

GONE = Peer(ABSENT, "demo-storage-1-x", why="Unschedulable: 0/2 nodes are available")


def test_a_sound_volume_passes_and_nothing_is_left(tmp_path: Path) -> None:
    for result in both(tmp_path):
        assert bad(result) == {}
        assert {name for name, _, _ in result.rows()} == set(ORDER) - {"answers"}, "each has the other one's rows"
        assert result.nodes == {0: "node-0", 1: "node-1"}
        assert result.findings() == []
        assert result.ok
    assert left(tmp_path) == []


def test_a_fuse_volume_passes_too(fault_fs: FaultFs) -> None:
    for result in both(fault_fs.mount):
        assert bad(result) == {}
    assert left(fault_fs.backing) == []


def test_two_volumes_are_not_shared(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for result in both(tmp_path / "a", tmp_path / "b"):
        assert bad(result) == {"other Pod": "FAIL"}
        ((_, finding),) = result.findings()
        assert finding.what.startswith("not shared: Pod demo-storage-x on node node-x")
        assert "l2.volume.claimName" in finding.fix
    assert left(tmp_path / "a") == left(tmp_path / "b") == []


def test_one_node_proves_nothing_about_another_one(tmp_path: Path) -> None:
    for result in both(tmp_path, node="only"):
        assert bad(result) == {"other Pod": "skipped"}
        assert result.ok
        assert "was not proven" in result.findings()[0][1].what
        assert "read: other Pod" in result.summary()


@pytest.mark.parametrize(
    ("peer", "verdict", "says"),
    [
        (GONE, "warn", "0/2 nodes are available"),
        (Peer(ENDED, "demo-storage-1-x", "node-1"), "warn", "it is ended"),
        (Peer(UNKNOWN, why="403"), "warn", "403"),
        (Peer(FAILED, "demo-storage-1-x", "node-1", "read-only"), "FAIL", "failed: read-only"),
    ],
    ids=["not scheduled", "ended", "unknown", "failed"],
)
def test_without_the_other_pod(tmp_path: Path, peer: Peer, verdict: str, says: str) -> None:
    result = run(job(tmp_path, deadline=2.0), peer)
    assert bad(result) == {"other Pod": verdict}
    assert says in result.findings()[0][1].what
    assert left(tmp_path) == []


Fault = Callable[[FaultFs], AbstractContextManager[Any]]
FAULTS: list[tuple[str, Fault, dict[str, str], str]] = [
    ("read-only", lambda f: f.faults.read_only(), {"directory": "FAIL"}, "Read-only file system"),
    ("may not write", lambda f: f.faults.eacces("mkdir"), {"directory": "FAIL"}, "Permission denied"),
    ("may not make files", lambda f: f.faults.eacces("create"), {"directory": "FAIL"}, "not writable"),
    ("full", lambda f: f.faults.enospc("write"), {"write": "warn"}, "the volume is full"),
    ("full for files", lambda f: f.faults.enospc("create"), {"write": "warn"}, "the volume is full"),
    ("full for directories", lambda f: f.faults.enospc("mkdir"), {"write": "warn"}, "the volume is full"),
    ("over quota", lambda f: f.faults.error("EDQUOT", "write"), {"write": "warn"}, "the volume is full"),
    ("errors for ever", lambda f: f.faults.eio("write"), {"answers": "FAIL"}, "writing, syncing and renaming"),
    ("fsync fails", lambda f: f.faults.eio("fsync"), {"answers": "FAIL"}, "writing, syncing and renaming"),
    ("no renames", lambda f: f.faults.error("ENOSYS", "rename"), {"answers": "FAIL"}, "Function not implemented"),
    ("gone after rename", lambda f: f.faults.vanish("**/*.data"), {"write": "FAIL"}, "is gone"),
    ("lost tail", lambda f: f.faults.cut("**/*.tmp"), {"write": "FAIL"}, "wrong bytes"),
    ("wrong bits", lambda f: f.faults.flip("**/*.data"), {"write": "FAIL"}, "wrong bytes"),
    ("dead", lambda f: f.faults.enotconn(), {"directory": "FAIL"}, "is not connected"),
]


@pytest.mark.parametrize(("fault", "wanted", "says"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
@pytest.mark.parametrize("fault_fs_options", [("--direct-io",)], ids=[""], indirect=True)
def test_a_fault_is_told(fault_fs: FaultFs, fault: Fault, wanted: dict[str, str], says: str) -> None:
    with fault(fault_fs):
        result = run(job(fault_fs.mount))
    assert bad(result) == wanted
    ((verdict, finding),) = result.findings()
    assert says in finding.what
    assert finding.fix
    assert result.ok is (verdict == "warn")


@pytest.fixture
def fault_fs_options(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return tuple(getattr(request, "param", ()))


def test_errors_that_pass_by_are_a_warning(fault_fs: FaultFs) -> None:
    with fault_fs.faults.eio("write", count=1):
        result = run(job(fault_fs.mount, deadline=3.0, patience=20.0), GONE)
    assert bad(result) == {"answers": "warn", "other Pod": "warn"}
    assert "after" in row(result, "answers").shown


def test_a_full_pool_says_eio(fault_fs: FaultFs) -> None:
    space = fault_fs.faults.statfs(total_bytes=8 << 30, free_bytes=100 << 20, total_files=10**6, free_files=10**6)
    with space, fault_fs.faults.eio("write"):
        result = run(job(fault_fs.mount, block=64 << 20, volume_type="curvine"))
    assert bad(result) == {"space": "warn", "write": "warn"}
    assert result.ok


def test_a_volume_below_the_quota(tmp_path: Path) -> None:
    result = run(job(tmp_path, deadline=1.0, quota=1 << 60), GONE)
    assert bad(result)["space"] == "warn"
    assert "l2.keeper.quota" in result.findings()[0][1].fix


def test_a_file_that_is_seen_late(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(judge, "SEEN_SECONDS", 0.0)
    first, second = both(tmp_path)
    assert bad(first) == bad(second) == {"seen after": "warn"}


def test_a_slow_store() -> None:
    assert judge.write(area.Written(1 << 20, "", 1.0, 9.0, 0.0)).verdict == "pass"
    found = judge.write(area.Written(1 << 20, "", 1.0, 9.1, 0.0))
    assert found.verdict == "warn"
    assert "took 10.1 s, and the engines give a store up after 10.1 s" in str(found.finding)


def test_slow_reads_and_look_ups_are_warnings(tmp_path: Path) -> None:
    first, _ = both(tmp_path, load_base_ms=0.0, load_ms_per_mib=0.0, lookup_ms=0.0)
    assert bad(first) == {"read": "warn", "look-up": "warn"}
    assert "cache.l2.settings.loadMsPerMiB" in str(row(first, "read").finding)


def test_wrong_bytes_of_the_other_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = area.Area.read

    def reads(self: area.Area, name: str) -> area.Read:
        found = real(self, name)
        mine = name.startswith(str(self._job.index))
        return found if mine else area.Read(found.size, "0" * 64, found.first, found.whole)

    monkeypatch.setattr(area.Area, "read", reads)
    for result in both(tmp_path):
        assert bad(result) == {"read": "FAIL"}
        assert result.findings()[0][1].what.startswith("wrong bytes")


def test_ignored_times_and_old_sizes(fault_fs: FaultFs) -> None:
    with fault_fs.faults.ignore("utime"), fault_fs.faults.old_size("**/*.swap"):
        result = run(job(fault_fs.mount, deadline=2.0), GONE)
    assert bad(result) == {"times": "warn", "replace": "warn", "other Pod": "warn"}


def test_names_that_do_not_differ_by_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = area.Area.touch
    monkeypatch.setattr(area.Area, "touch", lambda self, name: real(self, name.lower()))
    result = run(job(tmp_path, deadline=1.0), GONE)
    assert bad(result)["names"] == "FAIL"
    assert "small and capital" in str(row(result, "names").finding)


def test_short_names_only(tmp_path: Path, fault_fs: FaultFs) -> None:
    with fault_fs.faults.error("ENAMETOOLONG", "create", "**/nnn*"):
        result = run(job(fault_fs.mount, deadline=1.0), GONE)
    assert bad(result)["names"] == "FAIL"
    assert "255 bytes" in str(row(result, "names").finding)


def test_torn_reads_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_is_version", lambda data: False)
    first, second = both(tmp_path)
    assert bad(first) == bad(second) == {"replace there": "warn"}


def test_what_a_crash_left_is_removed_and_other_things_stay(tmp_path: Path) -> None:
    base = tmp_path / "v1" / "retail" / ".storage-check"
    for name in ("kv.demo/run-0/0.data", "kv.other/run-0/0.data"):
        (base / name).parent.mkdir(parents=True)
        (base / name).write_bytes(b"x")
    (base / "kv.demo" / "link").symlink_to(tmp_path)
    result = run(job(tmp_path, deadline=1.0), GONE)
    assert "removed 1 old" in row(result, "directory").shown
    assert left(tmp_path) == [
        ".storage-check", ".storage-check/kv.demo", ".storage-check/kv.demo/link",
        ".storage-check/kv.other", ".storage-check/kv.other/run-0", ".storage-check/kv.other/run-0/0.data",
    ]  # fmt: skip


def test_the_size_of_an_object_that_lies_there(tmp_path: Path) -> None:
    objects = tmp_path / "v1" / "retail" / "tiny" / "0123456789abcdef" / "objects" / "aa" / "bb"
    objects.mkdir(parents=True)
    os.truncate(_made(objects / "aabb@00000001@0.kv"), 123_456)
    first, second = both(tmp_path, size=0)
    assert bad(first) == bad(second) == {}
    made = area.Area(job(tmp_path))
    assert made.known_size() == 123_456
    assert area.Area(job(tmp_path, line_of_business="cards")).known_size() == 0


def _made(path: Path) -> Path:
    path.touch()
    return path


def test_a_line_of_business_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "retail").symlink_to(tmp_path / "elsewhere")
    result = run(job(tmp_path))
    assert bad(result) == {"directory": "FAIL"}
    assert "symbolic link" in result.findings()[0][1].what
    assert list((tmp_path / "elsewhere").iterdir()) == []
