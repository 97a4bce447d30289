"""`cache.eagerPrefetch`: what L2 hits cost when they start at arrival instead of at scheduling. Prints; asserts hits only."""

from __future__ import annotations

import random
import statistics
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kubernetes import client

from ..api import wait_for
from ..engines import CHUNK, Engines
from .conftest import SMOLLM2, Install

PROMPTS = 8
LENGTH = 1900
ROUNDS = 4
MODEL: dict[str, Any] = {
    **SMOLLM2,
    # What is read from a disk that others use may stand still for longer than an NVMe.
    "cache": {**SMOLLM2["cache"], "l2": {"settings": {"stallMs": 5000, "loadBaseMs": 20000}}},
    # Two at a time, so that the others wait in the queue.
    "engine": {"maxNumSeqs": 2},
}


def test_l2_hits_at_once(install: Install) -> None:
    dice = random.Random()
    prompts = [[dice.randrange(1000, 40000) for _ in range(LENGTH)] for _ in range(PROMPTS)]
    times: dict[bool, list[float]] = {False: [], True: []}
    # In turn, so that whatever else the machine does meets both.
    for eager in (False, True, False, True):
        engines = install({**MODEL, "cache": {**MODEL["cache"], "eagerPrefetch": eager}}, replicas=1)
        (pod,) = engines.pods()
        if not any(times.values()):
            _fill(engines, pod, prompts)
        _ttfts(engines, pod, prompts)  # the first round pays for what is warmed up once
        for _ in range(ROUNDS):
            times[eager] += _ttfts(engines, pod, prompts)
    for eager, each in times.items():
        print(
            f"eager prefetch {'on ' if eager else 'off'}: TTFT of {len(each)} L2 hits, {PROMPTS} at once: "
            f"mean {statistics.mean(each):.0f} ms, median {statistics.median(each):.0f} ms, slowest {max(each):.0f} ms"
        )


def _fill(engines: Engines, pod: client.V1Pod, prompts: list[list[int]]) -> None:
    before = engines.counters(pod)
    for prompt in prompts:
        engines.complete(pod, prompt)
    chunks = len(prompts) * (LENGTH // CHUNK)
    wait_for("all stored", lambda: engines.counters(pod).since(before).stored_chunks >= chunks, 120)


def _ttfts(engines: Engines, pod: client.V1Pod, prompts: list[list[int]]) -> list[float]:
    """Milliseconds to the first token of prompts that all lie in L2 and in no other tier, asked at once."""
    engines.clear_l1(pod)
    engines.clear_l0(pod)
    before = engines.counters(pod)
    with ThreadPoolExecutor(len(prompts)) as pool:
        times = list(pool.map(lambda prompt: engines.complete(pod, prompt), prompts))
    hits = engines.counters(pod).since(before)
    assert (hits.l0, hits.l1) == (0, 0)
    assert hits.l2 == len(prompts) * (LENGTH // CHUNK * CHUNK)
    return times
