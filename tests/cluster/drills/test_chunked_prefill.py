"""However the prefill is cut: every whole chunk of a prompt is stored, another Pod hits all of them, and no output token is stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ..api import wait_for
from ..engines import CHUNK, words
from .conftest import Install

PROMPTS = 8
REPEATS = 50


@pytest.mark.parametrize("batched", [256, 500, 1000, 4096])
def test_all_chunks_are_stored(install: Install, batched: int) -> None:
    # Without L0: every repeat of the second part would be answered from it, and nothing would be offered for storing.
    engines = install(
        {"engine": {"args": ["--max-num-batched-tokens", str(batched)]}, "cache": {"l0": {"enabled": False}}}
    )
    first, second = engines.pods()
    prompts = [words(f"cut{batched}x{number}", 1000) for number in range(PROMPTS)]
    before = engines.counters(first)
    with ThreadPoolExecutor(PROMPTS) as pool:
        cold = list(pool.map(lambda prompt: engines.ask(first, prompt, 8), prompts))
    chunks = [answer.full_chunks // CHUNK for answer in cold]
    assert min(chunks) >= 12
    wait_for("all stored", lambda: engines.counters(first).since(before).stored_chunks >= sum(chunks), 60)
    assert engines.counters(first).since(before).stored_chunks == sum(chunks)
    for prompt, answer in zip(prompts, cold, strict=True):
        warm, hits = engines.hits(second, prompt, tokens=8)
        assert hits.l2 == answer.full_chunks
        assert warm.text == answer.text

    before = engines.counters(first)
    short = words(f"short{batched}", 55)
    lengths = {engines.ask(first, short, 250).prompt_tokens for _ in range(REPEATS)}
    assert all(CHUNK < length < 2 * CHUNK - 50 for length in lengths), lengths
    assert engines.counters(first).since(before).stored_chunks == 1
