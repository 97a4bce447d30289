"""Strategy session: requests of a session stay at one engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from router.engine import Engine
from router.stack import Stack

SESSIONS = 30
ROUNDS = 4


def _round(running: Stack, stream: bool, header: str = "X-Session-ID") -> dict[int, Engine]:
    """One request of each session; where it went."""
    return {
        number: running.complete("the same text for all", stream, headers={header: f"session-{number}"})
        for number in range(SESSIONS)
    }


@pytest.mark.parametrize("stream", [False, True])
def test_sticky_and_spread(stack: Callable[..., Stack], stream: bool) -> None:
    running = stack("session")
    first = _round(running, stream)
    assert all(_round(running, stream) == first for _ in range(ROUNDS - 1))
    shares = [list(first.values()).count(engine) for engine in running.engines]
    assert shares == [SESSIONS / 2, SESSIONS / 2]


@pytest.mark.parametrize("stream", [False, True])
def test_other_pods_come_and_go(stack: Callable[..., Stack], stream: bool) -> None:
    """A replaced Pod has another address: the sessions of the others must not move, neither when it goes nor when it comes."""
    running = stack("session", engines=3)
    first = _round(running, stream)
    lost = running.engines[1]
    new = running.replace(lost)
    then = _round(running, stream)
    assert {n: e for n, e in then.items() if first[n] is not lost} == {n: e for n, e in first.items() if e is not lost}
    assert new in then.values()
    assert all(_round(running, stream) == then for _ in range(ROUNDS - 2))


@pytest.mark.parametrize("header", ["X-User-ID", "x-tenant-id", "X-Correlation-ID"])
def test_other_headers(stack: Callable[..., Stack], header: str) -> None:
    running = stack("session", session={"header": header})
    assert _round(running, False, header) == _round(running, False, header)


def test_without_a_session_all_engines_work(stack: Callable[..., Stack]) -> None:
    """A request without the header is no session: it goes anywhere, and it is served."""
    running = stack("session")
    for number in range(20):
        running.complete(f"a text of its own, number {number}")
    assert min(running.counts()) >= 4


def test_idle_sessions_are_forgotten(stack: Callable[..., Stack]) -> None:
    """Else the table grows for ever. The environment variable is the only way to set the time."""
    running = stack("session", session={"idleSeconds": 1234})
    assert running.env["VLLM_ROUTER_SLL_SESSION_EXPIRATION_IN_S"] == "1234"


def test_several_routers_agree(stack: Callable[..., Stack]) -> None:
    """With more than one router the session is hashed, so that each router finds the same engine, also after a restart."""
    running = stack("session", engines=3, replicas=2)
    second = running.add_router()
    for number in range(SESSIONS):
        headers = {"X-Session-ID": f"session-{number}"}
        went = running.complete("text", headers=headers)
        assert running.complete("text", router=second, headers=headers) is went
    running.restart_router()
    assert all(
        running.complete("text", headers=headers) is running.complete("text", router=second, headers=headers)
        for headers in ({"X-Session-ID": f"session-{number}"} for number in range(SESSIONS))
    )
    assert min(running.counts()) > 0
