"""Requests that preempt each other for minutes: no stored chunk is damaged, and greedy text is what a request alone gets."""

from __future__ import annotations

import array
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from local_cluster.settings import PLACES
from tiered_kv_cache.l2.format import HEADER

from ..api import wait_for
from ..engines import prompt_of
from .conftest import Install

AT_ONCE = 8
PROMPTS = 12
TOKENS = 400
STORM_S = 180
LONGEST_STORM_S = 900
LEAST = 100
"""Preemptions and compared chunks: fewer prove nothing, so a slow machine storms longer."""
PREEMPTIONS = "vllm:num_preemptions_total"
# Four prompts fit, their answers do not.
BLOCKS = 56
TOLERANCE = 1e-4
"""Of float32 keys and values that were computed in batches of another shape."""


def _chunks(salt: str) -> dict[str, Path]:
    """Chunk hash -> its file, of one cache salt."""
    root = PLACES.state / "shared" / "l2" / "v1" / "drill"
    return {path.name.split("@")[0]: path for path in root.rglob(f"*@{salt}.kv")}


def test_storm(install: Install) -> None:
    engines = install(
        {"engine": {"maxNumSeqs": AT_ONCE, "args": ["--num-gpu-blocks-override", str(BLOCKS)]}}, replicas=1
    )
    (pod,) = engines.pods()
    prompts = [prompt_of(f"storm{number}", 1500) for number in range(PROMPTS)]
    before = engines.vllm(pod).total(PREEMPTIONS)
    alone = [engines.ask(pod, prompt, TOKENS, cache_salt="alone").text for prompt in prompts]
    assert engines.vllm(pod).total(PREEMPTIONS) == before, "a request alone was preempted"

    numbers = count()
    begin = time.monotonic()
    wrong: list[str] = []

    def client() -> int:
        asked = 0
        while (lasted := time.monotonic() - begin) < STORM_S or (
            lasted < LONGEST_STORM_S and engines.vllm(pod).total(PREEMPTIONS) - before < LEAST
        ):
            number = next(numbers)
            # Each round has a salt of its own, so that it computes and stores, and repeats it once, so that it hits.
            which, salt = number % PROMPTS, f"storm{number // PROMPTS // 2}"
            text = engines.ask(pod, prompts[which], TOKENS, cache_salt=salt).text
            if text != alone[which]:
                wrong.append(f"prompt {which}, {salt}: {text[:60]!r} is not {alone[which][:60]!r}")
            asked += 1
        return asked

    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = sum(future.result() for future in [pool.submit(client) for _ in range(AT_ONCE)])
    preempted = engines.vllm(pod).total(PREEMPTIONS) - before
    print(f"{asked} requests, {preempted:.0f} preemptions, {len(wrong)} other texts")
    assert preempted >= LEAST
    wait_for("no block in use", lambda: engines.vllm(pod).total("vllm:kv_cache_usage_perc") == 0, 30)
    compared = sum(_compare(salt) for salt in _salts())
    print(f"{compared} chunks compared")
    assert compared >= LEAST
    assert not wrong, "\n".join(wrong)


def _salts() -> Iterator[str]:
    for number in count():
        if not _chunks(f"storm{number}"):
            return
        yield f"storm{number}"


def _compare(salt: str) -> int:
    """Compare a round's chunks with those of the requests alone; how many."""
    alone, stored = _chunks("alone"), _chunks(salt)
    for key, path in stored.items():
        ours, theirs = path.read_bytes()[HEADER:], alone[key].read_bytes()[HEADER:]
        assert len(ours) == len(theirs), path
        if ours != theirs:
            pairs = zip(array.array("f", ours), array.array("f", theirs), strict=True)
            assert max(abs(one - other) for one, other in pairs) < TOLERANCE, f"{path} differs from {alone[key]}"
    return len(stored)
