"""Which models have layers with several kinds of cache, by configurations as their makers publish them (shortened)."""

from __future__ import annotations

from typing import Any

import pytest

from tiered_kv_cache.kvgroups import reasons

ONE_KIND: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", "num_hidden_layers": 32},
    "qwen2": {
        "model_type": "qwen2",
        "sliding_window": 131072,
        "use_sliding_window": False,
        "max_window_layers": 28,
        "num_hidden_layers": 28,
    },
    "qwen3": {"model_type": "qwen3", "sliding_window": None, "use_sliding_window": False, "max_window_layers": 36},
    "qwen3 with types": {"model_type": "qwen3", "layer_types": ["full_attention"] * 28, "sliding_window": None},
    "mistral, a window in all layers": {"model_type": "mistral", "sliding_window": 4096},
    "mixtral": {"model_type": "mixtral", "sliding_window": None, "num_local_experts": 8},
    "deepseek v3": {"model_type": "deepseek_v3", "kv_lora_rank": 512},
    "phi3": {"model_type": "phi3", "sliding_window": 262144},
    "empty": {},
}
SEVERAL: dict[str, tuple[dict[str, Any], str]] = {
    "gemma 2, by type": (
        {"model_type": "gemma2", "sliding_window": 4096},
        "sliding_window: 4096 in some layers of gemma2",
    ),
    "gemma 3, nested": (
        {
            "model_type": "gemma3",
            "text_config": {"model_type": "gemma3_text", "sliding_window": 1024, "sliding_window_pattern": 6},
        },
        "text_config.sliding_window_pattern: 6",
    ),
    "gpt-oss": (
        {"model_type": "gpt_oss", "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 2},
        "layer_types: full_attention, sliding_attention",
    ),
    "llama 4": (
        {
            "model_type": "llama4",
            "text_config": {"model_type": "llama4_text", "attention_chunk_size": 8192, "no_rope_layer_interval": 4},
        },
        "text_config.no_rope_layer_interval: 4",
    ),
    "qwen2, windows in the upper layers": (
        {
            "model_type": "qwen2",
            "sliding_window": 4096,
            "use_sliding_window": True,
            "max_window_layers": 20,
            "num_hidden_layers": 28,
        },
        "max_window_layers: 20 of 28 layers",
    ),
    "qwen3-next": (
        {"model_type": "qwen3_next", "full_attention_interval": 4, "linear_num_key_heads": 16},
        "full_attention_interval: 4",
    ),
    "mamba": (
        {"model_type": "mamba", "architectures": ["MambaForCausalLM"], "state_size": 16},
        "model_type or architectures: mamba",
    ),
    "jamba": ({"model_type": "jamba", "attn_layer_period": 8, "mamba_d_state": 16}, "attn_layer_period: 8"),
    "nemotron-h": ({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*"}, "hybrid_override_pattern: M-M*"),
    "granite hybrid": (
        {"model_type": "granitemoehybrid", "layer_types": ["mamba", "attention"]},
        "layer_types: attention, mamba",
    ),
    "falcon h1": ({"model_type": "falcon_h1", "mamba_d_state": 256}, "mamba_d_state: 256"),
    "only state space": ({"layer_types": ["mamba"] * 4}, "layer_types: mamba"),
    "whisper": ({"model_type": "whisper", "is_encoder_decoder": True}, "an encoder's cache beside the decoder's"),
    "mllama": (
        {"model_type": "mllama", "text_config": {"cross_attention_layers": [3, 8]}},
        "text_config.is_encoder_decoder or cross_attention_layers",
    ),
    "deepseek 3.2": ({"model_type": "deepseek_v32", "index_topk": 2048}, "index_topk: 2048"),
}


@pytest.mark.parametrize("name", ONE_KIND)
def test_one_kind(name: str) -> None:
    assert reasons(ONE_KIND[name]) == []


@pytest.mark.parametrize("name", SEVERAL)
def test_several(name: str) -> None:
    config, expected = SEVERAL[name]
    assert any(reason.startswith(expected) or expected in reason for reason in reasons(config)), reasons(config)
