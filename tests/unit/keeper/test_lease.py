"""Two keepers: one acts. Through the Kubernetes client against a server with optimistic locking, and by the mark in the tree."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from kubernetes import client

from tiered_kv_cache.keeper import config, lease
from tiered_kv_cache.keeper.events import Events
from tiered_kv_cache.keeper.keeper import Keeper
from tiered_kv_cache.keeper.kube import KubeLease, KubernetesApi
from tiered_kv_cache.keeper.lease import Fence, LeaseLost, Right
from tiered_kv_cache.keeper.pace import Pace
from tiered_kv_cache.keeper.service import Service
from tiered_kv_cache.keeper.tree import Tree
from tiered_kv_cache.keeper.watch import Watch

from .leases import LeaseServer
from .volume import Root, Volume


@pytest.fixture
def server() -> Iterator[LeaseServer]:
    made = LeaseServer()
    yield made
    made.stop()


class Time:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def api(server: LeaseServer) -> KubernetesApi:
    settings = client.Configuration(host=server.url)
    settings.retries = False
    return KubernetesApi(client.ApiClient(settings))


def contender(server: LeaseServer, who: str, now: Time) -> KubeLease:
    return KubeLease(api(server), "kv", "keeper-kv-l2", who, seconds=30, clock=now)


def fence(volume: Volume, who: str, now: Time, election: str = "") -> Fence:
    tree = Tree(str(volume.mount), Pace(0), Watch())
    return Fence(tree, who, 30, now, lambda seconds: None, election=election)


def test_of_two_one_gets_the_lease_and_keeps_it(server: LeaseServer) -> None:
    now = Time()
    a, b = contender(server, "a", now), contender(server, "b", now)
    assert (a.step(), b.step(), a.held, b.held) == (True, False, True, False)
    for _ in range(20):
        now.now += 5
        assert (b.step(), a.step()) == (False, True)
    spec = server.leases["kv", "keeper-kv-l2"]["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"], spec["leaseDurationSeconds"]) == ("a", 1, 30)


def test_a_silent_holder_loses_it_after_its_length_by_the_others_clock_and_knows_before(server: LeaseServer) -> None:
    now = Time()
    a, b = contender(server, "a", now), contender(server, "b", now)
    a.step()
    b.step()
    now.now += 19
    assert a.held
    now.now += 2
    assert not a.held, "two thirds of the length are over"
    assert not b.step()
    now.now += 10
    assert b.step()
    assert b.held
    assert not a.step()
    assert server.leases["kv", "keeper-kv-l2"]["spec"]["leaseTransitions"] == 2


def test_two_that_try_at_the_same_moment_conflict_and_one_wins(server: LeaseServer) -> None:
    now = Time()
    contenders = [contender(server, f"k{i}", now) for i in range(8)]
    for _ in range(5):
        threads = [threading.Thread(target=c.step) for c in contenders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(c.held for c in contenders) == 1
        now.now += 100
        for c in contenders:
            c._seen = ("seen", -1e9) if c._seen is None else (c._seen[0], -1e9)


def test_an_api_server_that_is_down_ends_the_right_in_time(server: LeaseServer) -> None:
    now = Time()
    a = contender(server, "a", now)
    a.step()
    server.down = True
    now.now += 10
    assert not a.step()
    assert a.held, "what was granted lasts until its end"
    assert "500" in a.problem
    now.now += 11
    assert not a.held


def test_given_back_it_is_free_at_once(server: LeaseServer) -> None:
    now = Time()
    a, b = contender(server, "a", now), contender(server, "b", now)
    a.step()
    b.step()
    a.give_up()
    assert not a.held
    assert b.step()
    assert not a.step()


def test_the_mark_in_the_tree_admits_one(volume: Volume) -> None:
    now = Time()
    a, b = fence(volume, "a", now), fence(volume, "b", now)
    assert a.take(chosen=False)
    assert not b.take(chosen=False)
    for _ in range(10):
        now.now += 10
        a.check()
        assert not b.take(chosen=False)
    now.now += 31
    assert b.take(chosen=False)
    b.check()
    with pytest.raises(LeaseLost):
        a.check()


def test_an_election_says_nothing_of_another_releases_keeper(volume: Volume) -> None:
    now = Time()
    a, b = fence(volume, "a", now, "retail/demo-keeper"), fence(volume, "b", now, "cards/other-keeper")
    assert a.take(chosen=True)
    for _ in range(10):
        assert not b.take(chosen=True)
        assert b.other == "a"
        now.now += 10
        a.check()
    next_of_a = fence(volume, "a2", now, "retail/demo-keeper")
    assert next_of_a.take(chosen=True), "the next Pod of the same release waits for nothing"
    assert not b.take(chosen=True)
    now.now += 31
    assert b.take(chosen=True)
    assert b.other == ""


def test_released_it_is_free_at_once(volume: Volume) -> None:
    now = Time()
    a, b = fence(volume, "a", now), fence(volume, "b", now)
    a.take(chosen=False)
    a.release()
    assert b.take(chosen=False)


def test_a_mark_that_is_no_json_is_taken_over(volume: Volume) -> None:
    (volume.mount / "v1" / ".keeper").mkdir()
    (volume.mount / "v1" / ".keeper" / "holder").write_text("[1, 2")
    assert fence(volume, "a", Time()).take(chosen=False)


def test_a_keeper_that_lost_the_mark_stops_before_its_next_delete(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "CHECK_SECONDS", 0.0)
    now = Time()
    root = volume.root()
    root.put(*range(50), mtime=time.time() - 100)
    mine, other = Right(fence(volume, "a", now)), fence(volume, "b", now)
    assert mine.take()
    keeper = volume.keeper(quota=1, allowed=mine.check)
    keeper.x.tree.pace = Pace(0)

    def taken() -> None:
        assert other.take(chosen=True)

    _lost_after_seven(keeper, root, taken, monkeypatch)


def test_a_lease_lost_in_the_middle_stops_at_once(
    volume: Volume, server: LeaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = Time()
    root = volume.root()
    root.put(*range(50), mtime=time.time() - 100)
    election = contender(server, "a", now)
    election.step()
    right = Right(fence(volume, "a", now), election, now)
    assert right.take()
    keeper = volume.keeper(quota=1, allowed=right.check)

    def late() -> None:
        now.now += 21

    _lost_after_seven(keeper, root, late, monkeypatch)


def _lost_after_seven(keeper: Keeper, root: Root, lose: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the keeper lose its right when seven of 50 objects are gone; not one more may go."""
    deleted = 0
    unlink = keeper.x.tree.unlink

    def counted(parent: int, file: str) -> bool:
        nonlocal deleted
        gone = unlink(parent, file)
        deleted += file.endswith(".kv")
        if deleted == 7:
            lose()
        return gone

    monkeypatch.setattr(keeper.x.tree, "unlink", counted)
    with pytest.raises(LeaseLost):
        keeper.round()
    assert len(root.there(*range(50))) == 43


def service(
    volume: Volume,
    server: LeaseServer,
    who: str,
    ended: list[tuple[str, int]],
    *,
    lease: str = "keeper-kv-l2",
    seconds: float = 9,
) -> tuple[Service, Right]:
    """A whole keeper with its threads, and a lease that a machine which stands still does not outlast."""
    settings = config.parse(
        {"quota": "1Gi", "sweep": {"operationsPerSecond": 0, "interval": 0}, "tick": "50ms", "operationDeadline": "1s",
         "giveUpAfter": "2s", "recordInterval": 0},
        "test", str(volume.mount),
    )  # fmt: skip
    election = KubeLease(api(server), "kv", lease, who, seconds=seconds)
    right = Right(None, election)
    keeper = Keeper(settings, right.check)
    right.fence = Fence(Tree(settings.mount, Pace(0), keeper.watch), who, 30, election=lease)
    return Service(keeper, right, election, lambda line: None, lambda code: ended.append((who, code))), right


@pytest.mark.parametrize("leases", [("one", "one"), ("one", "another")])
def test_two_whole_keepers_one_acts_the_other_follows_when_it_ends(
    volume: Volume, server: LeaseServer, leases: tuple[str, str]
) -> None:
    volume.root().put("a")
    ended: list[tuple[str, int]] = []
    parts = [service(volume, server, who, ended, lease=name) for who, name in zip(("a", "b"), leases, strict=True)]
    threads = [threading.Thread(target=s.run, daemon=True) for s, _ in parts]
    states = [s._keeper.state for s, _ in parts]
    both = []
    threads[0].start()
    _until(lambda: states[0].leading)
    threads[1].start()
    for _ in range(40):
        both.append([s.leading for s in states])
        time.sleep(0.05)
    assert both == [[True, False]] * 40
    parts[0][1].stop.set()
    _until(lambda: states[1].leading)
    assert not states[0].leading
    _until(lambda: ended == [("a", 0)])
    parts[1][1].stop.set()
    _until(lambda: ended == [("a", 0), ("b", 0)])
    for thread in threads:
        thread.join(10)


def test_a_hung_volume_keeps_the_lease_a_while_then_ends_the_process(volume: Volume, server: LeaseServer) -> None:
    volume.root().put("a")
    ended: list[tuple[str, int]] = []
    running, _ = service(volume, server, "a", ended, seconds=4)
    keeper = running._keeper
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    _until(lambda: keeper.state.snapshot.numbers.get("complete") == 1)
    release = threading.Event()
    names = keeper.x.tree.names

    def hang(fd: int) -> list[tuple[str, bool]]:
        with keeper.watch.doing("listing"):
            release.wait(30)
        return names(fd)

    keeper.x.tree.names = hang  # type: ignore[method-assign]
    _until(lambda: not keeper.state.healthy())
    assert keeper.state.stuck()[1] == "listing"
    assert keeper.state.leading
    election = running._election
    assert election is not None
    assert election.held, "renewed by a thread that does not touch the volume"
    _until(lambda: ended == [("a", 1)])
    assert not election.held
    assert server.leases["kv", "keeper-kv-l2"]["spec"]["holderIdentity"] == ""
    release.set()


def test_a_mount_whose_process_is_gone_ends_the_keeper(volume: Volume, server: LeaseServer) -> None:
    volume.root().put("a")
    ended: list[tuple[str, int]] = []
    running, _ = service(volume, server, "a", ended)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    _until(lambda: running._keeper.state.snapshot.numbers.get("complete") == 1)

    def gone(fd: int) -> list[tuple[str, bool]]:
        raise OSError(107, "Transport endpoint is not connected")

    running._keeper.x.tree.names = gone  # type: ignore[method-assign]
    _until(lambda: ended == [("a", 1)])


def test_events_reach_the_api_server_once_an_hour(server: LeaseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "keeper-0")
    now, lines = Time(), list[str]()
    events = Events(api(server), "kv", lines.append, now)
    assert [events.say("QuotaReached", "retail", f"text {i}") for i in range(3)] == [True, False, False]
    assert events.say("QuotaReached", "cards", "other")
    now.now += 3601
    assert events.say("QuotaReached", "retail", "again")
    _until(lambda: len(server.events) == 3)
    assert [(e["reason"], e["message"], e["involvedObject"]["name"]) for e in server.events] == [
        ("QuotaReached", "text 0", "keeper-0"), ("QuotaReached", "other", "keeper-0"), ("QuotaReached", "again", "keeper-0"),
    ]  # fmt: skip
    assert lines == ["QuotaReached: text 0", "QuotaReached: other", "QuotaReached: again"]


def _until(what: object) -> None:
    assert callable(what)
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "did not come true within a minute"
        time.sleep(0.02)
