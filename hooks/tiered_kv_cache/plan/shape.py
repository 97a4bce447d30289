"""Bytes of KV that a token takes, from the shape in a model's config.json. What is not said there is not guessed.

Of vLLM 0.32: a layer of attention keeps keys and values of each KV head; where ranks are more than KV heads, each rank keeps one, so
that some are kept twice. With multi-head latent attention (kv_lora_rank) it keeps one latent vector and the rotary part.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import kvgroups
from ..findings import UsageError
from .said import said

BYTES = {
    "float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1,
}  # fmt: skip
"""Of a value. Other kinds (with a scale for each head, packed) have sizes of their own."""


@dataclass(frozen=True)
class Engine:
    """What of the engine's arguments counts: --dtype, --kv-cache-dtype, ranks, and whether the shape itself is overridden."""

    dtype: str
    kv_dtype: str
    tensor_parallel: int
    overridden: bool


class Unknown(Exception):
    """The bytes cannot be known; the text says why."""


@dataclass(frozen=True)
class Shape:
    """``config``: of config.json; ``weights``: bytes of the folder's safetensors, 0 where there are none."""

    config: dict[str, Any]
    weights: int = 0


def load(model: str, path: Path) -> Shape:
    """From a config.json or the folder that holds it. Raises UsageError."""
    file = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise UsageError(
            f"{said('--config', f'{model}={path}')}: {file} cannot be read as JSON: {err}. "
            "Fix: name the model's config.json, or the folder with it"
        ) from err
    if not isinstance(config, dict):
        raise UsageError(
            f"{said('--config', f'{model}={path}')}: {file} is no object. Fix: name the model's config.json"
        )
    weights = sum(each.stat().st_size for each in path.glob("*.safetensors")) if path.is_dir() else 0
    return Shape(config, weights)


def token_bytes(config: dict[str, Any], engine: Engine) -> int:
    """Bytes of a token in all ranks together. Raises Unknown."""
    if engine.overridden:
        raise Unknown("--hf-overrides changes what config.json says")
    if kinds := kvgroups.reasons(config):
        raise Unknown(f"layers keep several kinds of cache ({'; '.join(kinds)[:160]})")
    text = _text(config)
    size = _value_bytes(text, config, engine)
    layers = _number(text, "num_hidden_layers", "n_layer", "num_layers")
    if text.get("kv_lora_rank"):
        if engine.tensor_parallel > 1:
            raise Unknown("each rank keeps the whole latent vector, and how often L1 and L2 hold it is not known")
        return layers * (_number(text, "kv_lora_rank") + _number(text, "qk_rope_head_dim")) * size
    heads = _number(text, "num_attention_heads", "n_head")
    kept = _number(text, "num_key_value_heads", "num_kv_heads", default=heads)
    if isinstance(text.get("head_dim"), int):
        width = int(text["head_dim"])
    else:
        hidden = _number(text, "hidden_size", "n_embd")
        if hidden % heads:
            raise Unknown(f"hidden_size {hidden} is no multiple of {heads} heads, and there is no head_dim")
        width = hidden // heads
    return layers * 2 * max(kept, engine.tensor_parallel) * width * size


def _text(config: dict[str, Any]) -> dict[str, Any]:
    """The part that describes the language model, of those that see or hear as well."""
    for name in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(name), dict):
            return dict(config[name])
    return config


def _value_bytes(text: dict[str, Any], config: dict[str, Any], engine: Engine) -> int:
    kind, said = engine.kv_dtype, "--kv-cache-dtype"
    if kind in ("", "auto"):
        kind, said = engine.dtype, "--dtype"
        if kind in ("", "auto"):
            kind = next(
                (str(part[name]) for part in (text, config) for name in ("dtype", "torch_dtype") if part.get(name)), ""
            ).removeprefix("torch.")
            said = "config.json"
            # vLLM takes another type for weights of 32 bits, which depends on the device.
            if kind in ("", "float32", "float"):
                raise Unknown(f"--dtype is auto, and config.json says {kind or 'no dtype'}")
    if kind not in BYTES:
        raise Unknown(f"{said} {kind} has a size of its own")
    return BYTES[kind]


def _number(config: dict[str, Any], *keys: str, default: int = 0) -> int:
    for each in keys:
        value = config.get(each)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    if default:
        return default
    raise Unknown(f"config.json has no {keys[0]}")
