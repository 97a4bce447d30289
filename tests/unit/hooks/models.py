"""Small models on disk, in the real format."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "sliding_window": None}
SIZES = {"embed": 40_000, "layer.0": 20_000, "layer.1": 20_000, "norm": 64}


def safetensors(tensors: dict[str, bytes]) -> bytes:
    """A file of byte tensors, in this order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, content in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(content)], "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(tensors.values())


def tensors(seed: int = 0) -> dict[str, bytes]:
    """Random content."""
    chance = random.Random(seed)
    return {name: chance.randbytes(size) for name, size in SIZES.items()}


def make_model(folder: Path, seed: int = 0, config: dict[str, Any] | None = None) -> Path:
    """config.json, one safetensors file and a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or CONFIG))
    (folder / "model.safetensors").write_bytes(safetensors(tensors(seed)))
    (folder / "tokenizer.json").write_text("{}")
    return folder
