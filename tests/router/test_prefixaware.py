"""Strategy prefixaware: a prompt goes to the engine that has had its beginning."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from router.prompts import at_once, prefix, question, share_at_holder
from router.stack import Stack

NAMES = [f"p{number}" for number in range(12)]
ROUNDS = 10
OLDER = {
    "versions": {"vllm": "0.20.0", "lmcache": "0.5.6"},
    "image": {"repository": "example.com/vllm", "tag": "v0.20.0"},
    "acknowledge": {"unknownPair": True},
}


@pytest.mark.parametrize("stream", [False, True])
def test_repeated_prefixes_stay(stack: Callable[..., Stack], stream: bool) -> None:
    """One request at a time, the lowest load there is. 108 repeated prefixes."""
    running = stack("prefixaware")
    assert share_at_holder(running, NAMES, ROUNDS, stream) >= 0.95
    found = running.router.metric(
        "vllm_router_prefix_routing_decisions_total", policy="cache_aware", outcome="prefix_hit"
    )
    assert found >= 0.95 * len(NAMES) * (ROUNDS - 1)


def test_new_prefixes_go_to_the_idlest_engine(stack: Callable[..., Stack]) -> None:
    """Under load they spread. With one request at a time all engines are idle, and the first gets them: docs/routing.md."""
    running = stack("prefixaware", engines=4)
    for engine in running.engines:
        engine.faults.seconds = 0.3
    at_once(running, [question(f"n{number}", 0) for number in range(32)], 32)
    assert max(running.counts()) <= 1.5 * 8, running.counts()


def test_prefixes_that_were_spread_stay(stack: Callable[..., Stack]) -> None:
    running = stack("prefixaware", engines=4)
    for engine in running.engines:
        engine.faults.seconds = 0.2
    at_once(running, [question(name, 0) for name in NAMES], 12)
    for engine in running.engines:
        engine.faults.seconds = 0
    assert min(running.counts()) > 0
    assert share_at_holder(running, NAMES, ROUNDS, stream=False) >= 0.95


def test_popular_prefix_is_spread_under_load(stack: Callable[..., Stack]) -> None:
    """C30: 64 requests at once with one prefix, which one of four engines has."""
    running = stack("prefixaware", engines=4)
    running.complete(question("popular", 0))
    for engine in running.engines:
        engine.faults.seconds = 0.5
    before = running.counts()
    at_once(running, [question("popular", number) for number in range(1, 65)], 64)
    got = [now - then for now, then in zip(running.counts(), before, strict=True)]
    assert max(got) <= 1.5 * 16, got


def test_engine_without_render(stack: Callable[..., Stack]) -> None:
    """Older vLLM: the router falls back to /tokenize."""
    running = stack("prefixaware", of_model={"engine": OLDER})
    for engine in running.engines:
        engine.faults.render = False
    assert share_at_holder(running, NAMES[:6], 5, stream=False) >= 0.95
    assert "/tokenize" in running.engines[0].asked


def test_a_replaced_engine_is_forgotten(stack: Callable[..., Stack]) -> None:
    running = stack("prefixaware")
    went = running.complete(prefix("x"))
    running.replace(went)
    assert running.complete(prefix("x")) is not went
    assert share_at_holder(running, NAMES[:6], 5, stream=False) >= 0.95


def test_bound_idle_engines_do_not_share_new_prefixes(stack: Callable[..., Stack]) -> None:
    """Of vllm-router 0.1.17. Fails as soon as it spreads them: then docs/routing.md says too little."""
    running = stack("prefixaware")
    for name in NAMES:
        running.complete(question(name, 0))
    assert sorted(running.counts()) == [0, len(NAMES)]


def test_the_routers_own_thresholds_spread_nothing(stack: Callable[..., Stack]) -> None:
    """Why the chart has its own."""
    running = stack("prefixaware", engines=4, prefix={"imbalanceRequests": 64, "imbalanceRatio": 1.5})
    running.complete(question("popular", 0))
    for engine in running.engines:
        engine.faults.seconds = 0.5
    at_once(running, [question("popular", number) for number in range(1, 65)], 64)
    assert sorted(running.counts()) == [0, 0, 0, 65]
