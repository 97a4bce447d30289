"""Cases that others have met (by their numbers in the list of outside cases), as far as they concern a keeper."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tiered_kv_cache.keeper import evict, plan, server
from tiered_kv_cache.keeper.keeper import Keeper
from tiered_kv_cache.keeper.lease import Fence, LeaseLost
from tiered_kv_cache.keeper.pace import Pace
from tiered_kv_cache.keeper.tree import Tree
from tiered_kv_cache.keeper.watch import Watch
from tiered_kv_cache.l2 import paths

from .volume import BLOCK, DAY, Volume, cleaned, clock, name, removed, told


def test_c06_every_salt_is_accounted_for_and_leaves_no_directory(volume: Volume) -> None:
    root = volume.root()
    salts = ["", ".", "..", "a b", "A", "a", "line\nbreak", "x@y", "/", "s" * 128, "\U0001f600" * 128]
    for salt in salts:
        key = paths.object_name(bytes(32), 1, 0, salt)
        file = root.path / paths.object_path(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"k" * BLOCK)
    keeper = volume.keeper()
    keeper.round()
    assert keeper.x.table.objects == len(salts)
    assert keeper.state.snapshot.unknown["retail"] == 0


def test_c10_a_filesystem_that_says_nothing_of_its_space_evicts_nothing(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = volume.root()
    root.put(*range(10), mtime=time.time() - 100)
    nothing = os.statvfs_result((4096, 4096, 0, 0, 0, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "fstatvfs", lambda fd: nothing)
    keeper = volume.keeper(guard={"freeBytes": "1Gi", "freeFiles": 1000})
    keeper.round()
    assert len(root.there(*range(10))) == 10


def test_c10_a_mount_that_cannot_rename_ends_in_no_litter(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    volume.root().put("a")

    def refuse(*args: Any, **more: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "rename", refuse)
    keeper = volume.keeper()
    with pytest.raises(OSError, match="not implemented"):
        keeper.round()
    assert list((volume.mount / "v1" / ".keeper").iterdir()) == []


def test_c11_metrics_probes_and_status_answer_while_the_volume_hangs(volume: Volume) -> None:
    volume.root().put(*range(3))
    keeper = volume.keeper(operationDeadline="100ms", giveUpAfter="1h")
    keeper.round()
    hung = threading.Event()
    http = server.serve(keeper.state, 0)
    base = f"http://127.0.0.1:{http.server_address[1]}"

    def hang() -> None:
        with keeper.watch.doing("looking at x"):
            hung.wait(60)

    thread = threading.Thread(target=hang)
    thread.start()
    try:
        while keeper.state.healthy():
            time.sleep(0.01)
        with urllib.request.urlopen(f"{base}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        assert 'tiered_kv_cache_keeper_objects{fingerprint="0123456789abcdef"' in text
        stuck = [line for line in text.splitlines() if line.startswith("tiered_kv_cache_keeper_stuck_seconds")]
        assert float(stuck[0].split()[1]) > 0
        with urllib.request.urlopen(f"{base}/status", timeout=5) as answer:
            status = json.load(answer)
        assert status["stuck"]["operation"] == "looking at x"
        assert status["fingerprints"][0]["objects"] == 3
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"{base}/healthz", timeout=5)
    finally:
        hung.set()
        thread.join()
    with urllib.request.urlopen(f"{base}/healthz", timeout=5) as answer:
        assert answer.read() == b"ok\n"
    http.shutdown()


def test_c23_times_of_wrong_clocks_neither_expire_nor_stay_for_ever(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    times = {"ahead": now + 7200, "behind": now - 7200, "zero": 0, "far": 4102444800, "right": now}
    for label, mtime in times.items():
        root.put(label, mtime=mtime)
    keeper = volume.keeper(ttl="10m")
    keeper.round()
    assert root.there(*times) == list(times), "all were stored this minute, as their inodes say"
    assert (keeper.x.counts.clamped[("future",)], keeper.x.counts.clamped[("past",)]) == (2, 1)
    clock(keeper).advance(660)
    keeper.round()
    assert root.there(*times) == []


def test_c23_an_object_that_came_after_a_sweep_is_younger_than_it_whatever_its_time(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("old", mtime=now - 3000)
    keeper = volume.keeper()
    keeper.round()
    swept = keeper.x.table.of()[0].shard(int(name("behind")[:2], 16)).swept
    root.put("behind", mtime=now - 7200)
    keeper.round()
    x = keeper.x
    victims = plan.oldest(x.table.of(), x.accounting.charge, 2**32 - 1, 10)
    assert [v.use for v in victims] == [int(now - 3000), swept]


def test_c23_a_clock_that_jumps_expires_nothing_until_it_goes_on_evenly(volume: Volume) -> None:
    root = volume.root()
    root.put("a")
    keeper = volume.keeper(ttl="1h")
    keeper.round()
    # The filesystem's clock, not time that passed.
    clock(keeper)._ahead += 2 * DAY
    keeper.round()
    assert root.there("a") == ["a"]
    assert keeper.x.clock.jumps == 1
    clock(keeper)._ahead -= 2 * DAY
    for _ in range(5):
        keeper.round()
    assert root.there("a") == ["a"]
    assert keeper.x.clock.steady


def test_c23_a_foreign_process_that_fills_the_volume_costs_what_the_guard_asks_and_no_more(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, now = volume.root(), time.time()
    for i in range(20):
        root.put(i, mtime=now - 1000 + i)
    monotonic = [0.0]
    gone_at = [(-10.0, 0)]

    def free(fd: int) -> os.statvfs_result:
        # The pool gives space back four seconds after the delete; a foreign process has 95 of 100 blocks.
        left = 5 + max(gone for at, gone in gone_at if monotonic[0] - at >= 4)
        return os.statvfs_result((BLOCK, BLOCK, 100, left, left, 1000, 900, 900, 0, 255))

    monkeypatch.setattr(os, "fstatvfs", free)
    keeper = volume.keeper(guard={"freeBytes": 10 * BLOCK}, pool={"lag": "5s"})
    keeper._monotonic = keeper.evictor._clock = lambda: monotonic[0]
    for _ in range(12):
        keeper.round()
        gone_at.append((monotonic[0], 20 - len(root.there(*range(20)))))
        monotonic[0] += 1
    assert root.there(*range(20)) == list(range(5, 20))
    assert removed(keeper, "space") == 5
    assert "VolumeFull" in told(keeper).reasons()


def test_c24_what_became_hot_in_the_queue_stays(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evict, "SLICE", 50)
    root, now = volume.root(), time.time()
    labels = list(range(2000))
    for i in labels:
        root.put(i, mtime=now - 10_000 + i)
    keeper = volume.keeper()
    keeper.round()
    victims = plan.oldest(keeper.x.table.of(), keeper.x.accounting.charge, int(now), 2000)
    hot = list(range(1000, 2000, 10))
    unlink = keeper.x.tree.unlink
    deleted = 0

    def counted(parent: int, file: str) -> bool:
        nonlocal deleted
        deleted += file.endswith(".kv")
        if deleted == 300:
            for i in hot:
                root.log(time.time(), "use", i)
        return unlink(parent, file)

    monkeypatch.setattr(keeper.x.tree, "unlink", counted)
    with keeper._root() as fd:
        assert fd is not None
        assert keeper.evictor.run(fd, victims, "quota") == 1900
    assert root.there(*labels) == hot
    assert keeper.x.counts.spared == {("used",): 100}


def test_c24_old_remains_of_nfs_go_and_young_ones_stay(volume: Volume) -> None:
    root = volume.root()
    root.put("a")
    remains = [root.file("a").parent / ".nfs000000000001a2b300000001", root.tmp(".nfs00000000000000ff00000002")]
    for path in remains:
        path.write_bytes(b"x")
    keeper = volume.keeper(grace={"nfs": "168h", "orphan": 0})
    keeper.round()
    clock(keeper).advance(3600)
    keeper.round()
    assert [p.exists() for p in remains] == [True, True]
    assert keeper.state.snapshot.unknown["retail"] == 0
    clock(keeper).advance(8 * DAY)
    keeper.round()
    assert [p.exists() for p in remains] == [False, False]
    assert cleaned(keeper, "nfs") == 2


@pytest.mark.parametrize("code", [errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY])
def test_c24_a_directory_that_cannot_go_is_no_error(volume: Volume, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    root = volume.root()
    root.put("a")
    root.file("a").unlink()

    def refuse(path: Any, **more: Any) -> None:
        raise OSError(code, os.strerror(code))

    keeper = volume.keeper(grace={"directory": 1})
    keeper.round()
    clock(keeper).advance(100)
    monkeypatch.setattr(os, "rmdir", refuse)
    keeper.round()
    assert keeper.x.counts.errors == {}


def test_c25_inodes_have_their_own_watermark_and_the_word_says_which(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, now = volume.root(), time.time()
    for i in range(20):
        root.put(i, mtime=now - 1000 + i)
    monkeypatch.setattr(os, "fstatvfs", lambda fd: os.statvfs_result((4096, 4096, 1000, 900, 900, 3000, 7, 7, 0, 255)))
    keeper = volume.keeper(guard={"freeBytes": BLOCK, "freeFiles": 10})
    keeper.round()
    assert root.there(*range(20)) == list(range(3, 20))
    assert any("too few inodes" in line for line in told(keeper).lines)


@pytest.mark.parametrize("code", [errno.EDQUOT, errno.ENOSPC])
def test_c25_a_full_volume_is_still_emptied(volume: Volume, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    root = volume.root()
    root.put(*range(20), mtime=time.time() - 100)
    keeper = volume.keeper(quota=10 * BLOCK)
    keeper.round()
    root.put(*range(20, 40), mtime=time.time() - 50)
    write = keeper.x.tree.write

    def full(parent: int, file: str, parts: list[bytes]) -> os.stat_result:
        if parts:
            raise OSError(code, os.strerror(code))
        return write(parent, file, parts)

    monkeypatch.setattr(keeper.x.tree, "write", full)
    keeper.round()
    assert len(root.there(*range(40))) == 7
    # One that starts on the full volume does not even have a clock.
    root.put(*range(20, 40), mtime=time.time() - 50)
    fresh = volume.keeper(quota=10 * BLOCK)
    (volume.mount / "v1" / ".keeper" / "clock").unlink()
    monkeypatch.setattr(fresh.x.tree, "write", full)
    fresh.round()
    assert len(root.there(*range(40))) == 7
    assert not fresh.x.clock.steady


@pytest.mark.parametrize("code", [errno.EDQUOT, errno.EIO])
def test_c25_a_full_volume_takes_no_mark_and_still_gets_its_keeper(
    volume: Volume, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    tree = Tree(str(volume.mount), Pace(0), Watch())
    fence, other = Fence(tree, "a", 30), Fence(Tree(str(volume.mount), Pace(0), Watch()), "b", 30)
    assert other.take(chosen=True)

    def full(parent: int, file: str, parts: list[bytes]) -> os.stat_result:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(tree, "write", full)
    assert fence.take(chosen=True)
    fence.check()
    third = Fence(Tree(str(volume.mount), Pace(0), Watch()), "c", 30)
    assert third.take(chosen=True)
    with pytest.raises(LeaseLost):
        fence.check()
    with pytest.raises(OSError, match=os.strerror(code)):
        Fence(tree, "d", 0).take(chosen=False)


def test_c27_a_folder_closed_to_the_keeper_hides_no_other_one(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = volume.root("retail"), volume.root("cards")
    mine.put(*range(20), mtime=time.time() - 100)
    other.put(*range(5), mtime=time.time() - 100)
    keeper = volume.keeper(linesOfBusiness={"cards": {"quota": 5 * BLOCK}})
    keeper.round()
    other.put(*range(5, 10), mtime=time.time() - 50)
    real, closed = os.open, mine.file(3).parent.name

    def refuse(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == closed and not flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    keeper.round()
    assert keeper.x.table.of("retail")[0].objects == 20, "what is closed counts as it was"
    assert len(other.there(*range(10))) == 3
    assert "KeeperMayNotDelete" in told(keeper).reasons()


def test_c32_what_was_chosen_and_stayed_is_counted_apart(volume: Volume) -> None:
    root = volume.root()
    root.put(*range(4), mtime=time.time() - 100)
    keeper: Keeper = volume.keeper()
    keeper.round()
    victims = plan.oldest(keeper.x.table.of(), keeper.x.accounting.charge, 2**32 - 1, 10)
    by_label = {v.ident: v for v in victims}
    assert len(by_label) == 4
    root.file(0).unlink()
    root.log(time.time(), "use", 1)
    root.put(2, mtime=time.time() - 50)
    with keeper._root() as fd:
        assert fd is not None
        assert keeper.evictor.run(fd, victims, "quota") == 1
    assert keeper.x.counts.spared == {("gone",): 1, ("used",): 1, ("changed",): 1}
    assert removed(keeper, "quota") == 1
    assert isinstance(root.path, Path)
