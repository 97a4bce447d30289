"""Unreadable files: removed only when the pool has been whole long enough, under one leader."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tiered_kv_cache.keeper import health
from tiered_kv_cache.keeper.config import Pool
from tiered_kv_cache.keeper.health import Health, Steady
from tiered_kv_cache.keeper.keeper import Keeper

from .volume import Volume, clock, name, removed, told


class Pooled:
    """A pool whose state the test sets, and objects that cannot be read."""

    def __init__(self) -> None:
        self.now = Health(True, "fine", "term 1")
        self.monotonic = 0.0
        self.broken: set[str] = set()

    def attach(self, keeper: Keeper) -> Keeper:
        keeper.pool._clock = lambda: self.monotonic
        read = keeper.x.tree.read

        def maybe(parent: int, file: str, most: int) -> tuple[bytes, os.stat_result] | None:
            if file in self.broken:
                raise OSError(errno.EIO, "Input/output error")
            return read(parent, file, most)

        keeper.x.tree.read = maybe  # type: ignore[method-assign, assignment]
        return keeper

    def rounds(self, keeper: Keeper, count: int, apart: float = 60.0) -> None:
        for _ in range(count):
            keeper.round()
            self.monotonic += apart
            clock(keeper).advance(apart)


@pytest.fixture
def pool() -> Pooled:
    return Pooled()


def test_a_ghost_goes_after_its_grace_while_the_pool_is_whole(volume: Volume, pool: Pooled) -> None:
    root = volume.root()
    root.put("good", "ghost", mtime=time.time() - 100)
    pool.broken = {name("ghost") + ".kv"}
    keeper = pool.attach(volume.keeper(health=lambda: pool.now, grace={"ghost": 600}))
    pool.rounds(keeper, 10)
    assert root.there("good", "ghost") == ["good", "ghost"], "nine minutes are less than ten"
    pool.rounds(keeper, 2)
    assert root.there("good", "ghost") == ["good"]
    assert removed(keeper, "ghost") == 1
    assert keeper.ghosts.suspects == {}


@pytest.mark.parametrize(
    "state", [Health(False, "one is missing"), Health(None, "nobody knows")], ids=["no", "unknown"]
)
def test_a_ghost_stays_while_a_worker_is_missing_or_nobody_knows(volume: Volume, pool: Pooled, state: Health) -> None:
    root = volume.root()
    root.put("ghost")
    pool.broken, pool.now = {name("ghost") + ".kv"}, state
    keeper = pool.attach(volume.keeper(health=lambda: pool.now, grace={"ghost": 600}))
    pool.rounds(keeper, 30)
    assert root.there("ghost") == ["ghost"]
    assert keeper.x.counts.ghosts_kept == 1
    assert "GhostsKept" in told(keeper).reasons()
    # From the moment it is whole, the grace begins.
    pool.now = Health(True, "fine", "term 1")
    pool.rounds(keeper, 10)
    assert root.there("ghost") == ["ghost"]
    pool.rounds(keeper, 3)
    assert root.there("ghost") == []


def test_a_change_of_leader_begins_the_grace_anew(volume: Volume, pool: Pooled) -> None:
    root = volume.root()
    root.put("ghost")
    pool.broken = {name("ghost") + ".kv"}
    keeper = pool.attach(volume.keeper(health=lambda: pool.now, grace={"ghost": 600}))
    pool.rounds(keeper, 9)
    pool.now = Health(True, "fine", "term 2")
    pool.rounds(keeper, 10)
    assert root.there("ghost") == ["ghost"]
    pool.rounds(keeper, 3)
    assert root.there("ghost") == []


def test_a_file_that_comes_back_with_its_worker_is_no_ghost(volume: Volume, pool: Pooled) -> None:
    root = volume.root()
    root.put("a")
    pool.broken = {name("a") + ".kv"}
    keeper = pool.attach(volume.keeper(health=lambda: pool.now, grace={"ghost": 600}))
    pool.rounds(keeper, 9)
    pool.broken = set()
    pool.rounds(keeper, 1)
    assert keeper.ghosts.suspects == {}
    pool.rounds(keeper, 20)
    assert root.there("a") == ["a"]


def test_a_file_without_attributes_is_suspect_and_keeps_its_place(volume: Volume, pool: Pooled) -> None:
    root, now = volume.root(), time.time()
    root.put("a", "b", blocks=2, mtime=now - 100)
    keeper = pool.attach(volume.keeper(health=lambda: pool.now, grace={"ghost": 600}))
    keeper.round()
    files = keeper.x.tree.files
    bad = name("a") + ".kv"
    pool.broken = {bad}
    keeper.x.tree.files = lambda fd: [(n, None if n == bad else a) for n, a in files(fd)]  # type: ignore[method-assign]
    keeper.round()
    assert (keeper.x.table.objects, keeper.x.table.of()[0].size) == (2, 4 * 4096)
    assert len(keeper.ghosts.suspects) == 1
    pool.rounds(keeper, 13)
    assert root.there("a", "b") == ["b"]


def test_in_time_every_object_is_read_once(volume: Volume, pool: Pooled) -> None:
    root, other = volume.root(), volume.root("cards")
    root.put(*range(20))
    other.put(*range(5))
    keeper = pool.attach(volume.keeper(pool={"probesPerTick": 5}))
    seen: list[str] = []
    read = keeper.x.tree.read

    def noted(parent: int, file: str, most: int) -> tuple[bytes, os.stat_result] | None:
        seen.append(file)
        return read(parent, file, most)

    keeper.x.tree.read = noted  # type: ignore[method-assign, assignment]
    for _ in range(5):
        keeper.round()
    assert sorted(n for n in seen if n.endswith(".kv")) == sorted(
        [name(i) + ".kv" for i in range(20)] + [name(i) + ".kv" for i in range(5)]
    )


def test_a_dry_run_removes_no_ghost(volume: Volume, pool: Pooled) -> None:
    root = volume.root()
    root.put("ghost")
    pool.broken = {name("ghost") + ".kv"}
    keeper = pool.attach(volume.keeper(dry=True, health=lambda: pool.now, grace={"ghost": 600}))
    pool.rounds(keeper, 15)
    assert root.there("ghost") == ["ghost"]


class Masters:
    """Metrics of three masters, of which one leads."""

    def __init__(self) -> None:
        self.texts = {"/0": "", "/1": "", "/2": ""}
        masters = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = masters.texts.get(self.path)
                self.send_response(200 if text is not None else 503)
                self.end_headers()
                self.wfile.write((text or "").encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.urls = tuple(f"http://127.0.0.1:{self.server.server_address[1]}/{i}" for i in range(3))

    def say(self, leader: int, live: int, lost: int = 0, blacklist: int = 0, term: int = 5) -> None:
        for i in range(3):
            values = (live, lost, blacklist) if i == leader else (0, 0, 0)
            self.texts[f"/{i}"] = "".join(
                f'worker_num{{tag="{tag}"}} {value}\n' for tag, value in zip(("live", "lost", "blacklist"), values, strict=True)
            ) + f"journal_term {term}\n"  # fmt: skip


@pytest.fixture
def masters() -> Iterator[Masters]:
    made = Masters()
    yield made
    made.server.shutdown()


def test_the_masters_metrics_tell_whether_the_pool_is_whole(masters: Masters) -> None:
    ask = health.source(Pool(urls=masters.urls, workers=3))
    masters.say(1, live=3)
    assert ask() == Health(True, "3 workers are live", "5.0")
    masters.say(1, live=2, blacklist=1)
    assert ask().whole is False
    masters.say(1, live=3, lost=1)
    assert ask().whole is False
    masters.say(2, live=3, term=6)
    assert ask() == Health(True, "3 workers are live", "6.0")
    for path in masters.texts:
        masters.texts[path] = "something else 1\n"
    assert ask().whole is None
    # One follower that is away tells nothing; the leader does.
    masters.say(1, live=3)
    del masters.texts["/0"]
    assert ask().whole is True


def test_masters_that_do_not_answer_leave_it_unknown() -> None:
    assert health.source(Pool(urls=("http://127.0.0.1:9/metrics",), workers=1))().whole is None


def test_a_file_tells_whether_the_pool_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "pool"
    ask = health.source(Pool(file=str(file)))
    assert ask().whole is None
    file.write_text("ok leader-1")
    assert ask() == Health(True, f"{file} says ok", "leader-1")
    file.write_text("degraded")
    assert ask().whole is False
    file.write_text("")
    assert ask().whole is None


def test_without_a_source_nobody_knows() -> None:
    now = [0.0]
    steady = Steady(health.source(Pool()), lambda: now[0])
    assert steady.ask() == 0
    now[0] = 1000
    assert steady.ask() == 0
