"""However the prefill is cut: every whole chunk of a prompt is stored, another Pod hits all of them, and no output token is stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ..api import wait_for
from ..engines import CHUNK, prompt_of
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
    prompts = [prompt_of(f"cut{batched}x{number}", 15 * CHUNK) for number in range(PROMPTS)]
    before = engines.counters(first)
    with ThreadPoolExecutor(PROMPTS) as pool:
        cold = list(pool.map(lambda prompt: engines.ask(first, prompt, 8), prompts))
    wait_for("all stored", lambda: engines.counters(first).since(before).stored_chunks >= PROMPTS * 15, 60)
    assert engines.counters(first).since(before).stored_chunks == PROMPTS * 15
    for prompt, answer in zip(prompts, cold, strict=True):
        warm, hits = engines.hits(second, prompt, tokens=8)
        assert hits.l2 == answer.full_chunks
        assert warm.text == answer.text

    before = engines.counters(first)
    short = prompt_of(f"s{batched}", 290)
    for _ in range(REPEATS):
        engines.ask(first, short, 250)
    assert engines.counters(first).since(before).stored_chunks == 1
