"""Hit ratios by Prometheus' own rule engine, from the counters that a real Pod showed in drill test_hit_ratio.py, and changes of them."""

from __future__ import annotations

import pytest

from promrules import STEP_S, Observed, PromRules

MINUTES = 20
MEASURED: dict[str, float] = {
    "vllm:prefix_cache_queries_total": 12260,
    "vllm:prefix_cache_hits_total": 0,
    "vllm:external_prefix_cache_queries_total": 17390,
    "vllm:external_prefix_cache_hits_total": 5120,
    'vllm:prompt_tokens_by_source_total{source="local_compute"}': 12270,
    'vllm:prompt_tokens_by_source_total{source="external_kv_transfer"}': 5120,
    "vllm:prompt_tokens_total": 17390,
    "vllm:request_success_total": 40,
    "lmcache_mp_lookup_requested_tokens_total": 10240,
    "lmcache_mp_lookups_requests_total": 30,
    'lmcache_mp_lookup_early_exit_requests_total{reason="empty_chunk_hashes"}': 10,
    "lmcache_mp_l2_prefetch_load_completed_chunks_total": 40,
    'lmcache_mp_l2_prefetch_failure_chunks_total{reason="not_found"}': 20,
}
"""vLLM 0.32, LMCache 0.5.6: 10 requests of 513 tokens that hit, 10 with prompt log-probabilities, 10 whose load failed, 10 short."""
# With eager prefetch the result of a bypassed request is there when vLLM asks, and LMCache counts it.
COUNTED: dict[str, float] = {"lmcache_mp_lookup_requested_tokens_total": 15360, "lmcache_mp_lookups_requests_total": 40}
NO_BYPASS: dict[str, float] = {
    "vllm:external_prefix_cache_queries_total": 12260,
    'vllm:prompt_tokens_by_source_total{source="local_compute"}': 7140,
    "vllm:prompt_tokens_total": 12260,
    "vllm:request_success_total": 30,
}
NO_L0: dict[str, float] = {"vllm:prefix_cache_queries_total": 0}
AWAY: dict[str, float] = {
    "vllm:request_success_total": 50,
    "vllm:prompt_tokens_total": 22520,
    "vllm:prefix_cache_queries_total": 22520,
}
"""Beside NO_BYPASS: 20 more requests of 513 tokens for which LMCache was away."""

CASES: dict[str, tuple[dict[str, float], float, dict[str, float]]] = {
    "as measured": ({}, 0.5, {"bypassed_tokens": 5130, "never_looked_up_requests": 0, "short_requests": 10}),
    "bypassed ones are counted": (COUNTED, 0.5005, {"bypassed_tokens": 5130, "never_looked_up_requests": 0}),
    "no bypassed ones": (NO_BYPASS, 0.5, {"bypassed_tokens": 0, "never_looked_up_requests": 0}),
    "LMCache is away": (
        {**NO_BYPASS, **AWAY, "vllm:external_prefix_cache_queries_total": 22520},
        0.5,
        {"never_looked_up_requests": 20},
    ),
    "no L0": (NO_L0, 0.5, {}),
    "everything hits": (
        {**NO_BYPASS, 'vllm:prompt_tokens_by_source_total{source="external_kv_transfer"}': 10240},
        1.0,
        {"l2_load_failed_chunks": 20},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_ratio_and_causes(observed: Observed, prometheus: PromRules, case: str) -> None:
    changes, ratio, causes = CASES[case]
    steps = MINUTES * 60 // STEP_S
    series = {name: f"0+{value / steps:f}x{steps}" for name, value in {**MEASURED, **changes}.items()}
    names = ["tiered_kv_cache:served:ratio_rate5m", *(f"tiered_kv_cache:{cause}:rate5m" for cause in causes)]
    _, results = prometheus.ask(observed.spec, observed.scraped("engine", series), MINUTES, names)
    # One series each: a rule that joined wrongly gives two.
    (found, *rates) = [sample.value for (sample,) in results]
    assert found == pytest.approx(ratio, abs=0.001)
    assert [rate * MINUTES * 60 for rate in rates] == pytest.approx(list(causes.values()), abs=1)
