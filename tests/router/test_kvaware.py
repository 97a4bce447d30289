"""Strategy kvaware: a prompt goes to the engine whose cache holds it now."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from router.process import wait_for
from router.prompts import at_once, holders, question, share_at_holder
from router.stack import Stack

NAMES = [f"p{number}" for number in range(12)]
ROUNDS = 10
SAME_SIZES = {"cache": {"chunkSize": 128}, "engine": {"blockSize": 128}}


@pytest.fixture
def kvaware(stack: Callable[..., Stack]) -> Callable[..., Stack]:
    """Makes stacks whose engines take 30 ms for a prompt: events travel while it is computed."""

    def make(engines: int = 2, **routing: object) -> Stack:
        running = stack("kvaware", engines=engines, of_model=SAME_SIZES, **routing)
        for engine in running.engines:
            engine.faults.seconds = 0.03
        return running

    return make


@pytest.mark.parametrize("stream", [False, True])
def test_prompts_go_where_their_blocks_are(kvaware: Callable[..., Stack], stream: bool) -> None:
    running = kvaware()
    assert share_at_holder(running, NAMES, ROUNDS, stream) >= 0.95
    first = [sum(seen.cached == 0 for seen in engine.seen) for engine in running.engines]
    assert min(first) > 0, f"new prefixes all went to one engine: {first}"


def test_after_the_cache_is_cleared(kvaware: Callable[..., Stack]) -> None:
    """The engine that lost everything gets no request for what it had; whoever computes a prefix next, keeps it."""
    running = kvaware()
    share_at_holder(running, NAMES, 2, stream=False)
    running.engines[0].clear_cache()
    time.sleep(0.1)
    assert share_at_holder(running, NAMES, ROUNDS, stream=False) >= 0.95


def test_after_a_restart_in_place(kvaware: Callable[..., Stack]) -> None:
    """C29: kill -9 of the engine's process: same address, sequence numbers from 0, nothing cached; not even unready for long."""
    running = kvaware()
    share_at_holder(running, NAMES, 2, stream=False)
    had = [name for name in NAMES if running.engines[0].holds(question(name, 0))]
    assert had
    running.engines[0].restart()
    for number, name in enumerate(had):  # its first new blocks tell the router
        running.engines[0]._prefill([number] * 200)
        assert name
    time.sleep(0.2)
    assert share_at_holder(running, NAMES, ROUNDS, stream=False) >= 0.95


def test_after_a_restart_that_probes_saw(kvaware: Callable[..., Stack]) -> None:
    running = kvaware()
    share_at_holder(running, NAMES, 2, stream=False)
    running.set_ready(running.engines[0], False)
    running.wait_workers()
    running.engines[0].restart()
    running.set_ready(running.engines[0])
    running.wait_workers()
    assert share_at_holder(running, NAMES, ROUNDS, stream=False) >= 0.95


def test_a_new_router_learns_what_was_before(kvaware: Callable[..., Stack]) -> None:
    """The engines' replay: after a restart, and in a second router, from the first event on."""
    running = kvaware(replicas=2)
    share_at_holder(running, NAMES, 2, stream=False)
    second = running.add_router()
    for number, engine in enumerate(running.engines):  # an event each, as any traffic makes
        engine._prefill([number] * 200)
    time.sleep(0.3)
    for name in NAMES:
        prompt = question(name, 99)
        assert running.complete(prompt, router=second) in holders(running, prompt)


def test_several_routers(kvaware: Callable[..., Stack]) -> None:
    """What one router sent, the other knows."""
    running = kvaware(replicas=2)
    second = running.add_router()
    right = 0
    for number in range(60):
        prompt = question(f"r{number}", 0)
        went = running.complete(prompt)
        right += running.complete(prompt, router=second) is went
    assert right >= 0.95 * 60


def test_the_indexes_are_fed(kvaware: Callable[..., Stack]) -> None:
    running = kvaware()
    running.complete(question("a", 0))
    running.complete(question("a", 1))
    wait_for(
        "a hit in the index", lambda: running.router.metric("vllm_router_kv_placement_lookups_total", result="hit")
    )


def test_popular_prefix_under_load(kvaware: Callable[..., Stack]) -> None:
    """C30: 64 requests at once with one prefix, which one of four engines has. Engines are drawn by chance: 25 was seen."""
    running = kvaware(engines=4)
    running.complete(question("popular", 0))
    for engine in running.engines:
        engine.faults.seconds = 0.5
    before = running.counts()
    at_once(running, [question("popular", number) for number in range(1, 65)], 64)
    got = [now - then for now, then in zip(running.counts(), before, strict=True)]
    assert max(got) <= 2 * 16, got
