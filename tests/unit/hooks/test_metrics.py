"""Counters from Prometheus text."""

from __future__ import annotations

import contextlib
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_kv_cache import metrics
from tiered_kv_cache.metrics import Counters, MetricsError, Samples, full_chunks

# Taken from a run of vLLM 0.32 and LMCache 0.5.6, cut.
VLLM = """\
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="tiny"} 3800.0
# HELP vllm:prompt_tokens_created Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_created gauge
vllm:prompt_tokens_created{engine="0",model_name="tiny"} 1.764e+09
# HELP vllm:prefix_cache_hits_total Prefix cache hits, in terms of number of cached tokens.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 1792.0
# HELP vllm:external_prefix_cache_hits_total External prefix cache hits.
# TYPE vllm:external_prefix_cache_hits_total counter
vllm:external_prefix_cache_hits_total{engine="0",model_name="tiny"} 1792.0
# HELP vllm:prompt_tokens_by_source_total Number of prompt tokens by source.
# TYPE vllm:prompt_tokens_by_source_total counter
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="local_compute"} 216.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="local_cache_hit"} 1792.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="external_kv_transfer"} 1792.0
# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",cache_dtype="auto",engine="0"} 1.0
"""
LMCACHE = """\
# HELP lmcache_mp_lookup_requested_tokens_total Tokens looked up
# TYPE lmcache_mp_lookup_requested_tokens_total counter
lmcache_mp_lookup_requested_tokens_total{otel_scope_name="lmcache",model="a"} 1792.0
lmcache_mp_lookup_requested_tokens_total{otel_scope_name="lmcache",model="b"} 8.0
# TYPE lmcache_mp_lookup_hit_l2_tokens_total counter
lmcache_mp_lookup_hit_l2_tokens_total{otel_scope_name="lmcache"} 1792.0
"""
RECORDED = Path(__file__).parent / "recorded"
IN_PROCESS = (RECORDED / "in-process-metrics.txt").read_text()
"""vLLM 0.32 with LMCache 0.5.6 in its process and one PROMETHEUS_MULTIPROC_DIR, cut: the Pod that read a prompt of 1900 tokens
from L2, then from L0, then from L1, and computed it once more as a control."""
names = st.from_regex(r"[a-z_:][a-z0-9_:]{0,20}", fullmatch=True)
numbers = st.integers(0, 2**50)


def test_counters_of_both_servers() -> None:
    counters = Counters.read(Samples(VLLM), Samples(LMCACHE))
    of_vllm = Counters(prompt=3800, computed=216, l0=1792, external=1792, loaded=1792)
    assert counters == replace(of_vllm, requested=1800, l2=1792)
    assert Counters.read(Samples(VLLM), None) == of_vllm
    assert Samples(VLLM).label(metrics.VLLM_CACHE_CONFIG, "block_size") == "128"
    assert Samples(VLLM).label(metrics.VLLM_CACHE_CONFIG, "nothing") is None


def test_counters_in_process() -> None:
    counters = Counters.read(Samples(IN_PROCESS), None, in_process=True)
    assert counters == Counters(
        prompt=7632,
        computed=2256,
        l0=1792,
        external=3584,
        loaded=3584,
        requested=5840,
        stored_chunks=0,
        remote_reads=7,
    )
    assert Samples(IN_PROCESS).label(metrics.VLLM_CACHE_CONFIG, "block_size") == "128"
    assert Samples(IN_PROCESS).has_prefix(metrics.INPROCESS_PREFIX)
    assert not Samples(VLLM).has_prefix(metrics.INPROCESS_PREFIX)


def test_a_vllm_that_does_not_count_by_source() -> None:
    text = "\n".join(line for line in VLLM.splitlines() if "by_source" not in line) + "\n"
    assert Counters.read(Samples(text), None) == Counters(
        prompt=3800, computed=216, l0=1792, external=1792, loaded=1792
    )


def test_labels_select() -> None:
    samples = Samples(LMCACHE)
    assert samples.total(metrics.LMCACHE_REQUESTED, model="b") == 8
    assert samples.total("nothing") == 0


@pytest.mark.parametrize("text", ["<html>no</html>", "a b c d", '{"detail":"Not Found"}', "x{y=1} z"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(MetricsError, match="not Prometheus text"):
        Samples(text)


@given(st.dictionaries(names, st.lists(numbers, min_size=1, max_size=4), max_size=5))
def test_total_is_the_sum_over_labels(values: dict[str, list[int]]) -> None:
    lines = [f'{n}_total{{i="{i}"}} {v}' for n, vs in values.items() for i, v in enumerate(vs)]
    types = [f"# TYPE {n}_total counter" for n in values]
    samples = Samples("\n".join([*types, *lines]) + "\n")
    for name, expected in values.items():
        assert samples.total(f"{name}_total") == sum(expected)
        assert samples.total(f"{name}_total", i="0") == expected[0]


@given(st.text())
def test_any_text_parses_or_is_refused(text: str) -> None:
    with contextlib.suppress(MetricsError):
        Samples(text)


def test_what_a_tier_served() -> None:
    # As measured with real engines: 1900 tokens in L0; 1792 tokens, of which L0 has one block less; 1792 tokens in L2.
    assert Counters(l0=1792, l1=1792).served() == (1792, 0, 0)
    assert Counters(l0=1664, l1=1792, external=127).served() == (1664, 127, 0)
    assert Counters(l2=1792, external=1791).served() == (0, 0, 1792)


counters = st.builds(Counters, *[numbers] * len(fields(Counters)))


@given(counters, counters)
def test_differences(before: Counters, moved: Counters) -> None:
    after = Counters(*[a + b for a, b in zip(vars(before).values(), vars(moved).values(), strict=True)])
    assert after.since(before) == moved
    assert not after.since(before).went_back()
    assert before.since(after).went_back() == (moved != Counters())


@given(st.integers(0, 10**7), st.integers(1, 4096))
def test_full_chunks(tokens: int, size: int) -> None:
    chunks = full_chunks(tokens, size)
    assert chunks * size <= tokens < (chunks + 1) * size
