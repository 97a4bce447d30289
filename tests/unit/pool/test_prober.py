"""Looks at real FUSE mounts: alive, absent, dead, hung, and back to life; a hung mount holds one process."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faultfs import mounts as fuse_mounts
from faultfs.daemon import FaultFs
from tiered_kv_cache.pool import prober
from tiered_kv_cache.pool.prober import Outcome, Prober, look

from .test_mounts import written

PATIENCE = 60.0
HANG = 0.3
"""Deadline of looks that hang."""


@pytest.fixture
def place(fault_fs: FaultFs) -> Iterator[Prober]:
    made = Prober("retail", str(fault_fs.mount))
    yield made
    made.close()


def state(place: Prober, seconds: float = PATIENCE) -> str:
    return look([place], seconds)["retail"].state


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "did not come true"
        time.sleep(0.02)


def test_alive(place: Prober, fault_fs: FaultFs) -> None:
    before = fault_fs.faults.counters()["calls"]
    found = look([place], PATIENCE)["retail"]
    assert (found.state, found.detail) == ("alive", "")
    assert len(found.took) == 1
    after = fault_fs.faults.counters()["calls"]
    for operation in ("stat", "readdir"):
        assert after[operation] > before.get(operation, 0), "the mount itself is asked"
    helper = place.helpers()
    assert len(helper) == 1
    state(place)
    assert place.helpers() == helper, "no new process for each look"


def test_absent_before_and_after(place: Prober, fault_fs: FaultFs) -> None:
    fault_fs.stop()
    assert look([place], PATIENCE)["retail"] == Outcome("absent")
    until(lambda: not place.helpers())
    fault_fs.start()
    assert state(place) == "alive"


def test_a_bare_directory_in_the_mounts_place_is_absent(tmp_path: Path) -> None:
    (tmp_path / "fs").mkdir()
    place = Prober("retail", str(tmp_path / "fs"), written(tmp_path, (5, "/x", str(tmp_path / "fs"))))
    assert state(place) == "absent"
    place.close()


def test_dead_after_its_process_was_killed_and_alive_with_a_new_one(place: Prober, fault_fs: FaultFs) -> None:
    assert state(place) == "alive"
    fault_fs.kill()
    found = look([place], PATIENCE)["retail"]
    assert (found.state, found.detail) == ("dead", "ENOTCONN")
    fault_fs.start()
    assert state(place) == "alive"


@pytest.mark.parametrize(
    ("errno", "expected"), [("ESTALE", "dead"), ("EIO", "dead"), ("EACCES", "error"), ("ENODEV", "error")]
)
@pytest.mark.parametrize("operation", ["stat", "readdir"])
def test_errors_of_the_root(place: Prober, fault_fs: FaultFs, errno: str, expected: str, operation: str) -> None:
    with fault_fs.faults.error(errno, operation):
        found = look([place], PATIENCE)["retail"]
        assert (found.state, found.detail) == (expected, errno)
    assert state(place) == "alive"


@pytest.mark.parametrize("operation", ["stat", "readdir"])
def test_a_hung_mount_holds_one_call_and_comes_back(place: Prober, fault_fs: FaultFs, operation: str) -> None:
    assert state(place) == "alive"
    with fault_fs.faults.hang(operation):
        assert state(place, HANG) == "hung"
        fault_fs.faults.wait_under_way(operation)
        for _ in range(5):
            found = look([place], HANG)["retail"]
            assert (found.state, found.took) == ("hung", ())
        assert len(fault_fs.faults.under_way(operation)) == 1
        assert len(place.helpers()) == 1
    late: list[float] = []

    def alive() -> bool:
        found = look([place], PATIENCE)["retail"]
        late.extend(found.took)
        return found.state == "alive"

    until(alive)
    assert late[0] > HANG, "the call that hung counts with the time that it took"
    assert len(place.helpers()) == 1


def test_a_new_mount_over_one_that_hangs_is_asked(place: Prober, fault_fs: FaultFs, tmp_path: Path) -> None:
    hang = fault_fs.faults.hang("readdir")
    assert state(place, HANG) == "hung"
    fault_fs.faults.wait_under_way("readdir")
    fuse_mounts.detach(fault_fs.mount)
    assert state(place) == "absent"
    with FaultFs(tmp_path):
        assert state(place) == "alive"
        assert len(place.helpers()) == 2, "the one that hangs stays, it cannot be ended"
        hang.release()
        until(lambda: state(place) == "alive" and len(place.helpers()) == 1)


def test_with_too_many_that_hang_no_new_one_is_asked(
    place: Prober, fault_fs: FaultFs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(prober, "MOST_LEFT", 1)
    hang = fault_fs.faults.hang("readdir")
    assert state(place, HANG) == "hung"
    fault_fs.faults.wait_under_way("readdir")
    fuse_mounts.detach(fault_fs.mount)
    with FaultFs(tmp_path):
        found = look([place], PATIENCE)["retail"]
        assert (found.state, found.detail) == ("hung", "1 calls hang in earlier mounts")
        hang.release()
        until(lambda: state(place) == "alive")


def test_one_that_hangs_does_not_hold_up_another(place: Prober, fault_fs: FaultFs, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with FaultFs(tmp_path / "other") as other, fault_fs.faults.hang("stat"):
        second = Prober("cards", str(other.mount))
        found = look([place, second], 5)
        assert {name: outcome.state for name, outcome in found.items()} == {"retail": "hung", "cards": "alive"}
        assert list(found) == ["retail", "cards"]
        second.close()


def test_a_helper_that_was_killed_is_told_and_replaced(place: Prober, fault_fs: FaultFs) -> None:
    with fault_fs.faults.delay("readdir", ms=500):
        begun = place.begin()
        assert not isinstance(begun, Outcome)
        os.kill(begun.pid, signal.SIGKILL)
        assert place.end(begun) == Outcome("error", "the helper process ended")
    until(lambda: state(place) == "alive")


def test_no_helper_process(place: Prober, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert look([place], PATIENCE)["retail"] == Outcome("error", "no helper process: it did not start")
    monkeypatch.setattr(sys, "executable", "/absent")
    assert look([place], PATIENCE)["retail"] == Outcome("error", "no helper process: No such file or directory")
    monkeypatch.undo()
    assert state(place) == "alive"
