"""n-gram speculation: a hit stays a hit, and as many guesses are accepted after it as without it."""

from __future__ import annotations

import json

from kubernetes import client

from ..engines import Engines, Prompt, prompt_of
from .conftest import Install

CONFIG = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
TOKENS = 200


def _acceptance(engines: Engines, pod: client.V1Pod, prompt: Prompt) -> tuple[str, float, float]:
    """Text, accepted share of the drafted tokens, tokens hit outside L0."""
    names = ("vllm:spec_decode_num_accepted_tokens_total", "vllm:spec_decode_num_draft_tokens_total")
    before = [engines.vllm(pod).total(name) for name in names]
    answer, hits = engines.hits(pod, prompt, tokens=TOKENS)
    accepted, drafted = (engines.vllm(pod).total(name) - was for name, was in zip(names, before, strict=True))
    assert drafted > 0, "nothing was guessed"
    return answer.text, accepted / drafted, hits.l1 + hits.l2


def test_acceptance_after_a_hit(install: Install) -> None:
    engines = install(
        {
            "engine": {
                "args": ["--speculative-config", json.dumps(CONFIG)],
                "acknowledge": {"speculativeWithCache": True},
            }
        }
    )
    first, second = engines.pods()
    # A text that repeats itself, so that there is something to guess.
    prompt = prompt_of("guess", 150) * 12
    cold_text, cold, _ = _acceptance(engines, first, prompt)
    l2_text, from_l2, hits = _acceptance(engines, second, prompt)
    assert hits > 0
    engines.clear_l0(second)
    l1_text, from_l1, hits = _acceptance(engines, second, prompt)
    assert hits > 0
    print(f"accepted: cold {cold:.2f}, after an L2 hit {from_l2:.2f}, after an L1 hit {from_l1:.2f}")
    assert cold_text == l2_text == l1_text
    assert min(from_l2, from_l1) >= 0.95 * cold
