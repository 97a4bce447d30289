"""Bytes of a token, by configurations as their makers publish them (shortened)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.plan.shape import Engine, Unknown, load, token_bytes

from .release import QWEN2_7B, QWEN2_7B_BYTES, Json

LLAMA_8B: Json = {
    "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16",
}  # fmt: skip
DEEPSEEK: Json = {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
    "kv_lora_rank": 512, "qk_rope_head_dim": 64, "torch_dtype": "bfloat16",
}  # fmt: skip
GPT2: Json = {"n_layer": 12, "n_head": 12, "n_embd": 768, "torch_dtype": "float16"}


def engine(dtype: str = "auto", kv: str = "auto", tp: int = 1, overridden: bool = False) -> Engine:
    return Engine(dtype, kv, tp, overridden)


@pytest.mark.parametrize(
    ("config", "of", "expected"),
    [
        (QWEN2_7B, engine(), QWEN2_7B_BYTES),
        (LLAMA_8B, engine(), 32 * 2 * 8 * 128 * 2),
        (LLAMA_8B, engine(dtype="float32"), 32 * 2 * 8 * 128 * 4),
        (LLAMA_8B, engine(kv="fp8"), 32 * 2 * 8 * 128),
        # What ranks there are beyond KV heads keep copies.
        (QWEN2_7B, engine(tp=4), QWEN2_7B_BYTES),
        (QWEN2_7B, engine(tp=8), 2 * QWEN2_7B_BYTES),
        ({**LLAMA_8B, "head_dim": 64}, engine(), 32 * 2 * 8 * 64 * 2),
        ({"text_config": LLAMA_8B, "vision_config": {"hidden_size": 1}}, engine(), 32 * 2 * 8 * 128 * 2),
        ({**LLAMA_8B, "torch_dtype": "torch.float16"}, engine(), 32 * 2 * 8 * 128 * 2),
        (GPT2, engine(), 12 * 2 * 12 * 64 * 2),
        (DEEPSEEK, engine(), 61 * (512 + 64) * 2),
    ],
)
def test_known(config: Json, of: Engine, expected: int) -> None:
    assert token_bytes(config, of) == expected


@pytest.mark.parametrize(
    ("config", "of", "why"),
    [
        ({}, engine(dtype="bfloat16"), "no num_hidden_layers"),
        ({**LLAMA_8B, "num_hidden_layers": True}, engine(), "no num_hidden_layers"),
        ({**LLAMA_8B, "num_attention_heads": 0}, engine(), "no num_attention_heads"),
        ({**LLAMA_8B, "hidden_size": 4097}, engine(), "no multiple of 32 heads"),
        ({**LLAMA_8B, "torch_dtype": "float32"}, engine(), "config.json says float32"),
        ({key: LLAMA_8B[key] for key in LLAMA_8B if key != "torch_dtype"}, engine(), "says no dtype"),
        (LLAMA_8B, engine(kv="nvfp4"), "--kv-cache-dtype nvfp4"),
        (LLAMA_8B, engine(overridden=True), "--hf-overrides"),
        (DEEPSEEK, engine(tp=8), "how often"),
        ({**LLAMA_8B, "layer_types": ["full_attention", "sliding_attention"]}, engine(), "several kinds of cache"),
    ],
)
def test_what_is_not_known_is_not_guessed(config: Json, of: Engine, why: str) -> None:
    with pytest.raises(Unknown, match=why):
        token_bytes(config, of)


def test_a_folder_has_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"n_layer": 1}')
    (tmp_path / "a-1.safetensors").write_bytes(b"12345")
    (tmp_path / "a-2.safetensors").write_bytes(b"123")
    assert load("m", tmp_path).weights == 8
    assert load("m", tmp_path / "config.json").weights == 0


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UsageError, match=r"--config m=.*Fix: "):
        load("m", tmp_path)
