"""Found at lookup, gone at retrieve: the request is computed again and answered right."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from kubernetes import client

from ..api import wait_for
from ..engines import CHUNK, Engines, Prompt, prompt_of
from ..nodes import Nodes
from .conftest import TITLED, Install

KILLS = 6
LEASE_S = 1
WORKER = "VLLM::Worker"


@pytest.fixture(scope="module")
def engines(install: Install) -> Engines:
    return install(TITLED)


def _loaded(engines: Engines, pod: client.V1Pod) -> float:
    """Chunks that lookups have brought from L2 into L1."""
    return engines.lmcache(pod).total("lmcache_mp_l2_prefetch_load_completed_chunks_total")


def nothing(engines: Engines, pod: client.V1Pod) -> None:
    """The control: held, and nothing lost."""


def clear(engines: Engines, pod: client.V1Pod) -> None:
    engines.clear_l1(pod)


def clear_locked(engines: Engines, pod: client.V1Pod) -> None:
    engines.clear_l1(pod, force=True)


def clear_after_the_lease(engines: Engines, pod: client.V1Pod) -> None:
    time.sleep(2 * LEASE_S)
    engines.clear_l1(pod)


@pytest.mark.parametrize("lose", [nothing, clear, clear_locked])
def test_l1_is_cleared_after_the_lookup(engines: Engines, lose: Callable[[Engines, client.V1Pod], None]) -> None:
    _held(engines, lose)


def _held(engines: Engines, lose: Callable[[Engines, client.V1Pod], None]) -> None:
    """The worker, which retrieves, is held, when LMCache has found the chunks and brought them into L1."""
    first, second = engines.pods()
    prompt = prompt_of(f"held{lose.__name__}".replace("_", ""))
    cold = engines.fill(first, prompt)
    chunks = _loaded(engines, second) + cold.full_chunks // CHUNK
    with ThreadPoolExecutor(1) as pool:
        engines.signal(second, WORKER, "STOP")
        try:
            answer = pool.submit(engines.ask, second, prompt)
            wait_for("found", lambda: _loaded(engines, second) == chunks, 60)
            lose(engines, second)
        finally:
            engines.signal(second, WORKER, "CONT")
        assert answer.result().text == cold.text
    # And the Pod is as good as before.
    again, hits = engines.hits(second, prompt)
    assert again.text == cold.text
    assert hits.l0 + hits.external >= cold.full_chunks - 128


def test_lmcache_is_killed_at_any_moment_of_a_hit(engines: Engines) -> None:
    first, second = engines.pods()
    nodes, dice = Nodes(), random.Random(4)
    slowest = 0.0
    for number in range(KILLS):
        prompt = prompt_of(f"killed{number}")
        cold = engines.fill(first, prompt)
        wait = dice.uniform(0.0, 0.4)
        with ThreadPoolExecutor(1) as pool:
            begin = time.monotonic()
            answer = pool.submit(engines.ask, second, prompt)
            time.sleep(wait)
            nodes.kill(engines.api.core.read_namespaced_pod(second.metadata.name, engines.namespace), "lmcache")
            assert answer.result().text == cold.text, f"killed after {wait:.2f} s"
        slowest = max(slowest, time.monotonic() - begin)
        engines.restarted(second, "lmcache", number + 1)
    print(f"{KILLS} kills, slowest answer {slowest:.1f} s")
    wait_for("hits again", lambda: _hits_without_l0(engines, second, prompt_of("killed0")), 60)
    assert engines.restarts(second, "vllm") == 0


def _hits_without_l0(engines: Engines, pod: client.V1Pod, prompt: Prompt) -> bool:
    engines.clear_l0(pod)
    hits = engines.hits(pod, prompt)[1]
    return hits.l1 + hits.l2 > 0


def test_lease_is_over_before_the_retrieve(engines: Engines) -> None:
    """The last test of its module: the Pods' LMCache then has a short lease."""
    engines.add_lmcache_arguments("--l1-read-ttl-seconds", str(LEASE_S))
    _held(engines, clear_after_the_lease)
