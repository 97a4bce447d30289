"""States over time, what the cluster is told of them, and metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import generate_latest

from tiered_kv_cache.keeper.kube import Answer, JsonObject
from tiered_kv_cache.pool.board import Board
from tiered_kv_cache.pool.metrics import Metrics
from tiered_kv_cache.pool.prober import Outcome
from tiered_kv_cache.pool.reporter import MOST_WAITING, Reporter

from .server import PoolServer, api

ANNOTATION = "tiered-kv-cache.io/pool-mount"
LINES = ("retail", "cards")


class Time:
    """Both clocks, moved by a test."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def wall(self) -> datetime:
        return datetime(2026, 11, 30, 11, tzinfo=UTC) + timedelta(seconds=self.now - 100)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def board(time: Time) -> Board:
    return Board(LINES, 30, time, time.wall)


def both(retail: str, cards: str = "alive", detail: str = "") -> dict[str, Outcome]:
    return {"retail": Outcome(retail, detail), "cards": Outcome(cards)}


def test_states_since_when(board: Board, time: Time) -> None:
    assert board.problem() == "not looked yet"
    assert [change.text() for change in board.take(both("alive"))] == [
        "retail: alive since 2026-11-30T11:00:00Z", "cards: alive since 2026-11-30T11:00:00Z",
    ]  # fmt: skip
    assert board.problem() == ""
    time.now += 20
    assert board.take(both("alive")) == []
    time.now += 20
    assert [change.text() for change in board.take(both("dead", detail="ENOTCONN"))] == [
        "retail: dead (ENOTCONN) since 2026-11-30T11:00:40Z; was alive for 40 s"
    ]
    assert board.problem() == "retail: dead (ENOTCONN) since 2026-11-30T11:00:40Z"
    assert board.text() == "retail: dead (ENOTCONN) since 2026-11-30T11:00:40Z; cards: alive since 2026-11-30T11:00:00Z"
    time.now += 5
    assert [(one.name, one.state, age) for one, age in board.standing()] == [
        ("retail", "dead", 5),
        ("cards", "alive", 45),
    ]


def test_a_watch_that_stands_still_is_a_problem(board: Board, time: Time) -> None:
    board.take(both("alive"))
    time.now += 31
    assert board.problem() == "no look for 31 s"


def test_metrics(board: Board, time: Time) -> None:
    metrics = Metrics(board)

    def shown() -> list[str]:
        return [line for line in generate_latest(metrics.registry).decode().splitlines() if "_created" not in line]

    prefix = "tiered_kv_cache_pool_mount_"
    assert f'{prefix}up{{line_of_business="retail"}} 0.0' in shown(), "before the first look it is down"
    outcomes = {"retail": Outcome("alive", "", (0.003, 7.0)), "cards": Outcome("hung")}
    board.take(outcomes)
    metrics.count(outcomes)
    time.now += 5
    for line in (
        'up{line_of_business="retail"} 1.0',
        'up{line_of_business="cards"} 0.0',
        'state_seconds{line_of_business="cards",state="hung"} 5.0',
        'checks_total{line_of_business="retail",state="alive"} 1.0',
        'checks_total{line_of_business="retail",state="dead"} 0.0',
        'checks_total{line_of_business="cards",state="hung"} 1.0',
        'check_seconds_bucket{le="0.0025",line_of_business="retail"} 0.0',
        'check_seconds_bucket{le="0.005",line_of_business="retail"} 1.0',
        'check_seconds_count{line_of_business="retail"} 2.0',
        'check_seconds_count{line_of_business="cards"} 0.0',
    ):
        assert prefix + line in shown()
    assert not [
        line for line in shown() if line.startswith(f'{prefix}state_seconds{{line_of_business="retail",state="hung"')
    ]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def reporter(server: PoolServer, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Reporter:
    monkeypatch.setenv("POD_UID", "uid-of-the-pod")
    server.objects["pods", "pool-x7"] = {"metadata": {"name": "pool-x7", "resourceVersion": "1"}}
    return Reporter(api(server), "kv", "pool-x7", said.append)


def annotation(server: PoolServer) -> object:
    return server.objects["pods", "pool-x7"]["metadata"].get("annotations", {}).get(ANNOTATION)


def test_changes_become_events_and_the_annotation(
    reporter: Reporter, server: PoolServer, board: Board, time: Time
) -> None:
    reporter.take(board.take(both("alive", "absent")), board.text())
    assert reporter.send()
    assert annotation(server) == board.text()
    time.now += 10
    reporter.take(board.take(both("hung", "alive")), board.text())
    reporter.take(board.take(both("hung", "alive")), board.text())
    assert reporter.send()
    assert annotation(server) == "retail: hung since 2026-11-30T11:00:10Z; cards: alive since 2026-11-30T11:00:10Z"
    assert [(event["type"], event["reason"], event["message"]) for event in server.events] == [
        ("Warning", "PoolMountAbsent", "cards: absent since 2026-11-30T11:00:00Z"),
        ("Warning", "PoolMountHung", "retail: hung since 2026-11-30T11:00:10Z; was alive for 10 s"),
        ("Normal", "PoolMountAlive", "cards: alive since 2026-11-30T11:00:10Z; was absent for 10 s"),
    ]
    about = server.events[0]["involvedObject"]
    assert (about["kind"], about["name"], about["uid"]) == ("Pod", "pool-x7", "uid-of-the-pod")
    asked = len(server.asked)
    assert reporter.send()
    assert len(server.asked) == asked, "nothing is told twice"


def test_an_api_server_that_is_down_is_logged_once_a_change_and_told_later(
    reporter: Reporter, server: PoolServer, board: Board, said: list[str]
) -> None:
    server.status = 503
    for state in ("dead", "absent"):
        reporter.take(board.take(both(state)), board.text())
        assert [reporter.send() for _ in range(3)] == [False] * 3
    failures = [line for line in said if "could not be told" in line]
    assert len(failures) == 2
    assert "503" in failures[0]
    server.status = 0
    assert reporter.send()
    assert annotation(server) == board.text()
    assert [event["reason"] for event in server.events] == ["PoolMountDead", "PoolMountAbsent"]


def test_what_waits_is_bounded_and_the_newest_is_kept(reporter: Reporter, server: PoolServer, board: Board) -> None:
    for number in range(MOST_WAITING + 5):
        reporter.take(board.take(both("error", detail=f"E{number}")), board.text())
    assert reporter.send()
    assert len(server.events) == MOST_WAITING
    assert f"(E{MOST_WAITING + 4})" in server.events[-1]["message"]


def test_a_change_while_the_last_is_told_is_told_too(board: Board, said: list[str]) -> None:
    told: list[str] = []

    class Slow:
        """Takes so long that the state changes meanwhile."""

        def patch_pod(self, namespace: str, name: str, metadata: JsonObject) -> None:
            told.append(metadata["annotations"][ANNOTATION])
            if len(told) == 1:
                mine.take(board.take(both("dead")), board.text())

        def create_event(self, namespace: str, event: JsonObject) -> None:
            raise Answer(403, "Forbidden")

    mine = Reporter(Slow(), "kv", "pool-x7", said.append)
    mine.take(board.take(both("alive")), board.text())
    assert not mine.send()
    assert not mine.send()
    assert [text.split()[1] for text in told] == ["alive", "dead"]


def test_outside_a_cluster_the_log_is_told(board: Board, said: list[str]) -> None:
    reporter = Reporter(None, "", "", said.append)
    reporter.take(board.take(both("dead")), board.text())
    assert [line.split()[1] for line in said] == ["dead", "alive"]
