"""Which files of a model's folder an engine needs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

# Tokenizer, configuration, chat template, code that the configuration names.
SMALL = frozenset({".json", ".txt", ".model", ".py", ".jinja", ".tiktoken", ".spm", ".bpe", ".yaml"})
OLD_WEIGHTS = frozenset({".bin", ".pth", ".pt"})
OTHER_FORMATS = frozenset({"onnx", "openvino", "original", "coreml", "gguf", "flax", "tf"})
"""Folders with the same weights once more, for other programs."""


class Unusable(Exception):
    """No engine can load this folder; the message says why."""


def needed(files: Iterable[str]) -> list[str]:
    """The files to download, sorted. Raises Unusable."""
    paths = [PurePosixPath(name) for name in sorted(files)]
    paths = [
        p
        for p in paths
        if not _hidden(p) and not p.is_absolute() and not OTHER_FORMATS & {part.lower() for part in p.parts[:-1]}
    ]
    safetensors = [p for p in paths if p.suffix == ".safetensors"]
    standard = [p for p in safetensors if len(p.parts) == 1 and not p.name.startswith("consolidated")]
    has_config = PurePosixPath("config.json") in paths
    weights = safetensors or [p for p in paths if p.suffix in OLD_WEIGHTS and p.name not in ("training_args.bin",)]
    small = [p for p in paths if p.suffix in SMALL]
    if standard and has_config:
        # The second copy, in Mistral's own layout, of the weights and of their configuration.
        weights = [p for p in weights if not p.name.startswith("consolidated")]
        small = [p for p in small if p.name != "params.json" and not p.name.startswith("consolidated")]
    if safetensors:
        small = [p for p in small if not p.name.endswith((".bin.index.json", ".pth.index.json"))]
    if not has_config and PurePosixPath("params.json") not in paths:
        raise Unusable("there is no config.json")
    if not weights:
        kinds = sorted({p.suffix for p in paths if p.suffix in (".gguf", ".msgpack", ".h5", ".onnx", ".npz")})
        raise Unusable("there are no *.safetensors" + (f", only {', '.join(kinds)}" if kinds else ""))
    return sorted(str(p) for p in {*weights, *small})


def _hidden(path: PurePosixPath) -> bool:
    return any(part.startswith(".") for part in path.parts)
