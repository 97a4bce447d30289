"""What of a model's blocks depends on the length of the context that vLLM is told (--max-model-len).

For nearly all models nothing does, and the length stays out of the fingerprint, so that changing it loses no hit. In vLLM
(0.32, read in its source) two things do: models with LongRoPE choose one of two sets of factors by it, and Llama 4 scales
its attention beyond 32,768 tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LLAMA4_TUNING_FROM = 32768
_LONG = ("longrope", "su")


def traits(config: dict[str, Any], engine_arguments: list[Any], length: int) -> dict[str, Any]:
    """What a Pod with this length shares with others of the same traits only; empty for a model that does not care.

    Args:
        config: the model's config.json.
        engine_arguments: those of the user that count, since they may override the model's configuration.
        length: --max-model-len in tokens.
    """
    found: dict[str, Any] = {}
    for part in _parts(config):
        for rope in (part.get("rope_scaling"), part.get("rope_parameters")):
            if isinstance(rope, dict) and (rope.get("rope_type") or rope.get("type")) in _LONG:
                original = rope.get("original_max_position_embeddings") or part.get("original_max_position_embeddings")
                # Without the limit only equal lengths are known to agree.
                found["longRope"] = length > original if isinstance(original, int) else length
        if "llama4" in str(part.get("model_type")):
            found["attentionTemperature"] = length > LLAMA4_TUNING_FROM
    if any(kind in str(argument) for argument in engine_arguments for kind in ("longrope", "rope_scaling")):
        found["overriddenRope"] = length
    return found


def _parts(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _parts(value)
