"""300 clients leave in the middle of their streams; afterwards no block, lock or task is held, and the cache hits."""

from __future__ import annotations

import time

from kubernetes import client

from ..driver import script
from ..engines import RUN, Engines, prompt_of
from ..nodes import Nodes
from .conftest import HERE, Install

STREAMS = 300
SCRIPT = HERE / "aborts.py"
HELD_S = 2
BUSY_S = 120
"""A bound for requests that their clients left. Two cores carry two engines and 300 arrivals: not at once."""
LEASE_S = 300
"""LMCache's own, of read locks that nobody gives back."""


def _held(engines: Engines, pod: client.V1Pod) -> dict[str, float]:
    """Everything that a request holds while it runs; all 0 in an idle Pod."""
    vllm, lmcache = engines.vllm(pod), engines.lmcache_status(pod)
    l1 = lmcache["storage_manager"]["l1_manager"]
    return {
        "running": vllm.total("vllm:num_requests_running"),
        "waiting": vllm.total("vllm:num_requests_waiting"),
        "blocks": vllm.total("vllm:kv_cache_usage_perc"),
        "read locks": float(l1["read_locked_count"]),
        "write locks": float(l1["write_locked_count"]),
    }


def _ended(engines: Engines, pod: client.V1Pod) -> dict[str, int]:
    """How requests ended, by vLLM's counters: those that were left must be aborts."""
    vllm = engines.vllm(pod)
    reasons = ("abort", "length", "stop", "error")
    return {r: int(vllm.total("vllm:request_success_total", finished_reason=r)) for r in reasons}


def _freed(engines: Engines, pod: client.V1Pod) -> None:
    """Wait until nothing is held: locks at the latest when their lease ends, all else soon."""
    begin, held = time.monotonic(), _held(engines, pod)
    while any(held.values()):
        waited = time.monotonic() - begin
        print(f"{pod.metadata.name} after {waited:.0f} s: {held}, ended {_ended(engines, pod)}", flush=True)
        assert waited < LEASE_S + 60, held
        assert waited < BUSY_S or not any(held[what] for what in ("running", "waiting", "blocks")), held
        time.sleep(10)
        held = _held(engines, pod)


def test_clients_leave(install: Install, images: dict[str, str]) -> None:
    engines = install()
    first, second = engines.pods()
    url = f"http://{engines.release}-{engines.model}.{engines.namespace}"
    arguments = [url, engines.model, RUN, str(STREAMS)]
    nodes = Nodes()
    with script(engines.api, engines.namespace, SCRIPT, arguments, images["hooks"]) as running:
        # Lookups that are not answered while their clients leave.
        while not running.ended():
            nodes.kill(second, "lmcache", "SIGSTOP")
            time.sleep(HELD_S)
            nodes.kill(second, "lmcache", "SIGCONT")
            time.sleep(3 * HELD_S)
        seen = running.last_line()
    print(seen, flush=True)
    assert sum(seen.values()) == STREAMS
    assert sum(count for what, count in seen.items() if what in ("nothing", "headers", "tokens")) > STREAMS / 2, seen
    assert not [what for what in seen if what.startswith(("error", "status", "early"))], seen
    for pod in (first, second):
        _freed(engines, pod)
        print(f"{pod.metadata.name}: ended {_ended(engines, pod)}", flush=True)
        assert engines.restarts(pod, "vllm") == engines.restarts(pod, "lmcache") == 0
    prompt = prompt_of("after")
    cold = engines.fill(first, prompt)
    warm, hits = engines.hits(second, prompt)
    assert hits.l2 == cold.full_chunks
    assert warm.text == cold.text
