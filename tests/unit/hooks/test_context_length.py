"""Which models' blocks depend on the length of the context."""

from __future__ import annotations

from typing import Any

import pytest

from tiered_kv_cache import context_length

PHI3 = {"model_type": "phi3", "original_max_position_embeddings": 4096, "rope_scaling": {"type": "longrope"}}
PHI3_OLD = {"model_type": "phi3", "original_max_position_embeddings": 4096, "rope_scaling": {"type": "su"}}
PHI4 = {"rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 4096}}
VISION = {"model_type": "x", "text_config": PHI3}
LLAMA4 = {"model_type": "llama4", "text_config": {"model_type": "llama4_text"}}


@pytest.mark.parametrize("config", [PHI3, PHI3_OLD, PHI4, VISION], ids=["phi3", "su", "phi4", "nested"])
def test_factors_change_at_the_length_that_the_model_was_trained_for(config: dict[str, Any]) -> None:
    assert context_length.traits(config, [], 4096) == context_length.traits(config, [], 512) == {"longRope": False}
    assert context_length.traits(config, [], 4097) == context_length.traits(config, [], 131072) == {"longRope": True}


def test_without_that_length_only_equal_ones_agree() -> None:
    config = {"rope_scaling": {"type": "longrope"}}
    assert context_length.traits(config, [], 100) != context_length.traits(config, [], 101)


def test_llama_4_tunes_its_attention_in_long_contexts() -> None:
    assert context_length.traits(LLAMA4, [], 32768) == {"attentionTemperature": False}
    assert context_length.traits(LLAMA4, [], 32769) == {"attentionTemperature": True}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model_type": "llama", "max_position_embeddings": 8192, "rope_parameters": {"rope_type": "default"}},
        {"rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096}},
        {"rope_scaling": None},
    ],
    ids=["nothing", "llama", "yarn", "null"],
)
def test_others_do_not_care(config: dict[str, Any]) -> None:
    assert context_length.traits(config, ["--seed 1"], 4096) == context_length.traits(config, [], 131072) == {}


def test_an_override_counts_with_its_length() -> None:
    arguments = ['--hf-overrides {"rope_scaling": {"type": "longrope"}}']
    assert context_length.traits({}, arguments, 4096) == {"overriddenRope": 4096}
