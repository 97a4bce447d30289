"""What a new keeper knows is what the last one knew, as far as the tree tells."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tiered_kv_cache.keeper import evict
from tiered_kv_cache.keeper.keeper import Keeper

from .volume import BLOCK, Volume, removed


def known(keeper: Keeper) -> dict[Any, Any]:
    """Everything a keeper knows of objects."""
    return {
        f.path: sorted(
            (i, s.use[at], s.pred[at], s.size[at], s.blocks[at], s.mtime[at])
            for s in f.shards if s is not None for at, i in enumerate(s.ids)
        )
        for f in keeper.x.table.of()
    }  # fmt: skip


def test_a_restart_loses_nothing(volume: Volume) -> None:
    now, chance = time.time(), Random(3)
    roots = [volume.root("retail"), volume.root("cards"), volume.root("retail", "big", "f" * 16)]
    for root in roots:
        for chain in range(20):
            labels = [f"{chain}.{i}" for i in range(chance.randint(1, 12))]
            root.put(*labels, blocks=chance.randint(1, 3), mtime=now - chance.randint(100, 9000))
            root.log(now - chance.randint(0, 5000), "put", *labels)
    first = volume.keeper()
    first.round()
    assert sum(len(v) for v in known(first).values()) == first.x.table.objects > 300
    assert not list(volume.mount.glob("v1/*/*/*/use/*/*.log")), "the logs are gone: the record has to hold it"
    second = volume.keeper()
    second.round()
    assert known(second) == known(first)
    assert second.state.snapshot.scopes == first.state.snapshot.scopes


def test_nothing_is_evicted_before_the_whole_tree_was_seen(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put(*range(50), mtime=now - 100)
    keeper = volume.keeper(quota=1)
    keeper.tick(-1)
    assert (removed(keeper, "quota"), keeper.x.table.complete) == (0, False)
    for _ in range(100):
        keeper.tick(0.05)
        if keeper.x.table.complete:
            break
    keeper.tick(0.05)
    assert root.there(*range(50)) == []


def test_a_record_that_is_broken_is_as_none(volume: Volume) -> None:
    root, now = volume.root(), int(time.time())
    root.put("a", mtime=now - 5000)
    root.log(now - 10, "use", "a")
    volume.keeper().round()
    file = root.path / ".keeper" / "uses"
    whole = file.read_bytes()
    for broken in (whole[:-1], whole[:20], b"", whole[:17] + bytes([whole[17] ^ 1]) + whole[18:]):
        file.write_bytes(broken)
        keeper = volume.keeper()
        keeper.round()
        assert [r[1] for r in keeper.x.table.of()[0].rows()] == [now - 5000]
    file.write_bytes(whole)
    keeper = volume.keeper()
    keeper.round()
    assert [r[1] for r in keeper.x.table.of()[0].rows()] == [now - 10]


def test_writers_that_store_and_remove_all_the_while_cost_no_error(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evict, "SLICE", 5)
    root = volume.root()
    root.put(*range(100), mtime=time.time() - 100)
    stop, failed = threading.Event(), list[OSError]()

    def write(number: int) -> None:
        chance = Random(number)
        while not stop.is_set():
            label = f"{number} {chance.randint(0, 30)}"
            try:
                if chance.random() < 0.5:
                    root.put(label)
                else:
                    root.file(label).unlink(missing_ok=True)
            except (FileNotFoundError, FileExistsError):
                # The directory went between making it and using it: the adapter makes it again.
                continue
            except OSError as err:
                failed.append(err)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    keeper = volume.keeper(quota=20 * BLOCK, grace={"directory": 0, "object": 0})
    try:
        for _ in range(30):
            keeper.round()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == []
    assert keeper.x.counts.errors == {}
    assert removed(keeper, "quota") > 100
    keeper.round()
    assert keeper.x.table.objects == len(list(volume.mount.glob("v1/*/*/*/objects/*/*/*.kv"))) <= 17


def test_a_full_disk_for_the_record_stops_no_eviction(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    root = volume.root()
    root.put(*range(20), mtime=time.time() - 100)
    keeper = volume.keeper(quota=10 * BLOCK)
    write = keeper.x.tree.write

    def full(parent: int, file: str, parts: list[bytes]) -> Any:
        if file == "uses":
            raise OSError(28, "No space left on device")
        return write(parent, file, parts)

    monkeypatch.setattr(keeper.x.tree, "write", full)
    log = root.log(time.time() - 5, "use", 1)
    keeper.round()
    assert len(root.there(*range(20))) == 7
    assert keeper.x.counts.errors == {("ENOSPC",): 1}
    assert log.exists(), "what no record holds yet stays"
    assert isinstance(root.path, Path)
