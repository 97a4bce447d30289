"""Whether all layers of a model keep the same kind of cache, read from its config.json.

With layers of several kinds (a sliding window in some, state-space layers, cross attention) blocks of one chunk have
several sizes and reach back differently far. LMCache's file tier treats them as one kind, so that a group that comes
back shorter can be paired with stale bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_STATE_SPACE = re.compile(
    r"mamba|jamba|bamba|zamba|falcon_?h1|nemotron_?h|rwkv|recurrent_?gemma|griffin|qwen3_?(5|next)|lfm2|plamo2|granite_?moe_?hybrid|"
    r"minimax_?text|kimi_?linear|bailing_?moe_?linear|hgrn|retnet|xlstm",
    re.IGNORECASE,
)
_STATE_KEYS = (
    "mamba_d_state", "mamba_d_conv", "ssm_cfg", "ssm_state_size", "attn_layer_period", "hybrid_override_pattern",
    "linear_num_key_heads", "linear_attn_config", "full_attention_interval", "conv_L_cache", "attn_type_list", "lru_width",
)  # fmt: skip
_LAYER_KEYS = ("layer_types", "layers_block_type", "block_types", "_block_types", "attention_types")
_ALTERNATING = ("gemma2", "gemma3", "gemma3n", "gemma4", "cohere2", "gpt_oss", "llama4", "gpt_neo", "phi3small")


def reasons(config: dict[str, Any]) -> list[str]:
    """Why the model has several kinds of cache, each with key and value; empty if all layers are of one kind."""
    found = [reason for where, part in _parts(config) for reason in _of(where, part)]
    return list(dict.fromkeys(found))


def _parts(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "", config
    for key in ("text_config", "llm_config", "language_config", "thinker_config", "decoder"):
        if isinstance(config.get(key), dict):
            yield from ((f"{key}.{where}", part) for where, part in _parts(config[key]))


def _of(where: str, config: dict[str, Any]) -> Iterator[str]:
    for key in _LAYER_KEYS:
        kinds = config.get(key)
        if isinstance(kinds, list) and len({str(k) for k in kinds}) > 1:
            yield f"{where}{key}: {', '.join(sorted({str(k) for k in kinds}))}"
        elif isinstance(kinds, list) and any("attention" not in str(k) or "linear" in str(k) for k in kinds):
            yield f"{where}{key}: {kinds[0]}"
    yield from _windows(where, config)
    for key in _STATE_KEYS:
        if config.get(key) is not None:
            yield f"{where}{key}: {str(config[key])[:40]}"
    names = [str(config.get("model_type") or ""), *(str(a) for a in config.get("architectures") or [])]
    for name in names:
        if _STATE_SPACE.search(name):
            yield f"{where}model_type or architectures: {name}"
    if config.get("is_encoder_decoder") or config.get("cross_attention_layers"):
        yield f"{where}is_encoder_decoder or cross_attention_layers: an encoder's cache beside the decoder's"
    if config.get("index_topk"):
        yield f"{where}index_topk: {config['index_topk']}: an indexer's cache beside the attention's"


def _windows(where: str, config: dict[str, Any]) -> Iterator[str]:
    if config.get("layer_types"):
        return  # It says exactly which layer has which.
    window = config.get("sliding_window") or config.get("attention_chunk_size")
    for key in (
        "sliding_window_pattern",
        "interleaved_sliding_window",
        "global_attn_every_n_layers",
        "no_rope_layer_interval",
    ):
        if window and config.get(key):
            yield f"{where}{key}: {str(config[key])[:40]}"
    if window and str(config.get("model_type") or "").removesuffix("_text") in _ALTERNATING:
        yield f"{where}sliding_window: {window} in some layers of {config['model_type']}"
    layers, full = config.get("num_hidden_layers"), config.get("max_window_layers")
    if (
        window
        and config.get("use_sliding_window")
        and isinstance(layers, int)
        and isinstance(full, int)
        and 0 < full < layers
    ):
        yield f"{where}max_window_layers: {full} of {layers} layers, the others with a sliding window of {window}"
