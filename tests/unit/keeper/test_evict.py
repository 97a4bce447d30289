"""Which objects go, in which order, and from whom."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tiered_kv_cache.keeper import plan
from tiered_kv_cache.keeper.keeper import Keeper

from .volume import BLOCK, FINGERPRINT, Volume, clock, name, removed, told


def order(keeper: Keeper, labels: list[object]) -> list[object]:
    """All objects in the order in which they would go."""
    keeper.round()
    by_id = {v: x for x in labels for v in [_id(x)]}
    x = keeper.x
    return [by_id[v.ident] for v in plan.oldest(x.table.of(), x.accounting.charge, x.clock.now(), 10**6)]


def _id(label: object) -> int:
    from tiered_kv_cache.keeper import layout  # noqa: PLC0415

    return layout.object_id(name(label))


def test_without_logs_the_oldest_file_goes_first(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    for label, age in (("new", 10), ("old", 3000), ("middle", 500)):
        root.put(label, mtime=now - age)
    assert order(volume.keeper(), ["new", "old", "middle"]) == ["old", "middle", "new"]


def test_a_use_counts_more_than_the_time_of_the_file(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("a", mtime=now - 3000)
    root.put("b", mtime=now - 2000)
    root.log(now - 100, "use", "a")
    assert order(volume.keeper(), ["a", "b"]) == ["b", "a"]


def test_a_chain_goes_from_its_end(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    labels: list[object] = [f"chunk {i}" for i in range(20)]
    root.put(*labels, mtime=now - 5000)
    root.log(now - 100, "put", *labels)
    assert order(volume.keeper(), labels) == labels[::-1]


def test_a_predecessor_counts_as_used_when_its_successor_was(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    labels = ["p", "q", "r", "other"]
    root.put(*labels, mtime=now - 5000)
    root.log(now - 3000, "put", "p", "q", "r")
    root.log(now - 1000, "use", "other")
    # L1 had p and q: only r was read from the volume.
    root.log(now - 10, "use", "r")
    assert order(volume.keeper(), list(labels)) == ["other", "r", "q", "p"]


def test_two_tails_of_one_prefix_keep_it_as_long_as_the_younger_one(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    labels = ["prefix", "a1", "a2", "b1"]
    root.put(*labels, mtime=now - 5000)
    root.log(now - 400, "put", "prefix", "b1")
    root.log(now - 300, "put", "prefix", "a1", "a2")
    assert order(volume.keeper(), list(labels)) == ["b1", "a2", "a1", "prefix"]


def test_a_ring_of_predecessors_ends(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("a", "b", "c", mtime=now - 5000)
    root.log(now - 300, "use", "a", "b", "c", "a")
    root.log(now - 200, "use", "c", "b")
    assert sorted(map(str, order(volume.keeper(), ["a", "b", "c"]))) == ["a", "b", "c"]


def test_eviction_begins_above_high_and_stops_at_low(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    for i in range(85):
        root.put(i, mtime=now - 10_000 + i)
    keeper = volume.keeper(quota=100 * BLOCK)
    keeper.round()
    assert removed(keeper, "quota") == 0
    root.put(85, mtime=now)
    keeper.round()
    assert removed(keeper, "quota") == 16
    assert root.there(*range(86)) == list(range(16, 86))
    assert keeper.state.snapshot.scopes[-1] == ("volume", 70 * BLOCK, 100 * BLOCK, 70, 0)
    root.put(*range(100, 110), mtime=now)
    keeper.round()
    assert removed(keeper, "quota") == 16, "between low and high nothing goes"
    assert told(keeper).reasons() == ["QuotaReached"]


def test_a_tenant_at_its_quota_costs_no_other_one_a_file(volume: Volume) -> None:
    now = time.time()
    mine, other = volume.root("retail"), volume.root("cards")
    other.put(*range(30), mtime=now - 100_000)
    mine.put(*range(100), mtime=now)
    quotas = {"retail": {"quota": 50 * BLOCK}, "cards": {"quota": 50 * BLOCK}}
    keeper = volume.keeper(quota=100 * BLOCK, linesOfBusiness=quotas)
    keeper.round()
    assert len(mine.there(*range(100))) == 35
    assert other.there(*range(30)) == list(range(30))


def test_a_volume_promised_twice_takes_from_the_one_above_its_share(volume: Volume) -> None:
    now = time.time()
    mine, other = volume.root("retail"), volume.root("cards")
    other.put(*range(20), mtime=now - 100_000)
    mine.put(*range(67), mtime=now)
    quotas = {"retail": {"quota": 80 * BLOCK}, "cards": {"quota": 80 * BLOCK}}
    keeper = volume.keeper(quota=100 * BLOCK, linesOfBusiness=quotas)
    keeper.round()
    assert (len(mine.there(*range(67))), len(other.there(*range(20)))) == (50, 20)


def test_tenants_without_quotas_come_to_one_level(volume: Volume) -> None:
    now = time.time()
    roots = [volume.root(lob) for lob in ("a", "b", "c")]
    for root, count in zip(roots, (60, 40, 5), strict=True):
        root.put(*range(count), mtime=now - 100)
    keeper = volume.keeper(quota=100 * BLOCK)
    keeper.round()
    left = [len(root.there(*range(60))) for root in roots]
    assert sum(left) == 70
    assert left[2] == 5
    assert abs(left[0] - left[1]) <= 1


def test_a_model_at_its_quota_leaves_the_other_models_alone(volume: Volume) -> None:
    now = time.time()
    big, small = volume.root(model="big"), volume.root(model="small")
    small.put(*range(10), mtime=now - 100_000)
    big.put(*range(20), mtime=now)
    keeper = volume.keeper(linesOfBusiness={"retail": {"models": {"big": {"quota": 10 * BLOCK}}}})
    keeper.round()
    assert (len(big.there(*range(20))), len(small.there(*range(10)))) == (7, 10)


def test_a_limit_of_files_holds_where_inodes_are_short(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    for i in range(20):
        root.put(i, mtime=now - 1000 + i)
    keeper = volume.keeper(files=20)
    keeper.round()
    assert root.there(*range(20)) == list(range(6, 20))


def test_an_old_fingerprint_of_a_model_goes_before_the_present_one(volume: Volume) -> None:
    now = time.time()
    old, new = volume.root(fingerprint="f" * 16), volume.root(fingerprint=FINGERPRINT)
    old.put(*range(10), mtime=now - 5000)
    new.put(*range(10), mtime=now - 10)
    keeper = volume.keeper(quota=20 * BLOCK, highWatermark=0.9, lowWatermark=0.5)
    keeper.round()
    assert (len(old.there(*range(10))), len(new.there(*range(10)))) == (0, 10)


def test_nothing_younger_than_its_grace_goes(volume: Volume) -> None:
    root = volume.root()
    root.put(*range(20))
    keeper = volume.keeper(quota=10 * BLOCK, grace={"object": 3600})
    keeper.round()
    assert len(root.there(*range(20))) == 20
    assert "CannotEvict" in told(keeper).reasons()
    clock(keeper).advance(4000)
    keeper.round()
    assert len(root.there(*range(20))) == 7


def test_ttl_counts_from_the_last_use(volume: Volume) -> None:
    root = volume.root()
    root.put("a", "b", "c")
    keeper = volume.keeper(ttl="1h")
    keeper.round()
    clock(keeper).advance(3000)
    root.log(keeper.x.clock.now(), "use", "a", "b", mtime=keeper.x.clock.now())
    keeper.round()
    clock(keeper).advance(700)
    keeper.round()
    # b was used with a before it; c was not. Times of the inodes are of this machine, which is behind by now.
    assert root.there("a", "b", "c") == ["a", "b"]
    assert removed(keeper, "ttl") == 1


def test_orphans_go_after_their_grace_and_their_root_stays(volume: Volume) -> None:
    live, orphan = volume.root(), volume.root(fingerprint="f" * 16)
    live.put("a")
    orphan.put("a", "b")
    (orphan.path / "config.json").write_text("{}")
    keeper = volume.keeper(grace={"orphan": "10h", "directory": "1h"})
    keeper.round()
    clock(keeper).advance(9 * 3600)
    live.log(keeper.x.clock.now(), "use", "a", mtime=keeper.x.clock.now())
    keeper.round()
    assert orphan.there("a", "b") == ["a", "b"]
    clock(keeper).advance(2 * 3600)
    keeper.round()
    assert (orphan.there("a", "b"), live.there("a")) == ([], ["a"])
    assert removed(keeper, "orphan") == 2
    keeper.round()
    assert sorted(p.name for p in orphan.path.iterdir()) == [".keeper", "config.json", "objects"]


def test_more_than_the_allowed_part_waits_for_the_next_round_and_is_told(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiered_kv_cache.keeper import expire  # noqa: PLC0415

    monkeypatch.setattr(expire, "LEAST", 1)
    root = volume.root()
    root.put(*range(50))
    keeper = volume.keeper(ttl="1h", evict={"filesPerSecond": 0, "mostFractionByAge": 0.2})
    keeper.round()
    clock(keeper).advance(4000)
    counts = []
    for _ in range(3):
        keeper.round()
        counts.append(len(root.there(*range(50))))
    assert counts == [40, 32, 26]
    assert "ManyExpired" in told(keeper).reasons()


def test_a_victim_that_was_stored_anew_stays(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put(*range(10), mtime=now - 5000)
    keeper = volume.keeper()
    keeper.round()
    victims = plan.oldest(keeper.x.table.of(), keeper.x.accounting.charge, int(now), 10)
    root.put(3, blocks=2, mtime=now - 4000)
    with keeper._root() as fd:
        assert fd is not None
        assert keeper.evictor.run(fd, victims, "quota") == 9
    assert root.there(*range(10)) == [3]
    assert keeper.x.table.of()[0].size == 2 * BLOCK


def test_many_objects_of_one_second_lose_their_ends_first(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_TIES", 5)
    root, now = volume.root(), time.time()
    labels: list[Any] = [f"{chain}.{i}" for chain in "ab" for i in range(4)]
    root.put(*labels, mtime=now - 5000)
    root.log(now - 100, "put", *[x for x in labels if x[0] == "a"])
    root.log(now - 100, "put", *[x for x in labels if x[0] == "b"])
    keeper = volume.keeper()
    assert sorted(map(str, order(keeper, labels))) == ["a.3", "b.3"]
