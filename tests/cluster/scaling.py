"""Any values file at test size: one overlay for all, values/scale.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
OVERLAY = Path(__file__).with_name("values") / "scale.yaml"
EACH_MODEL = "x-model"


def scaled(file: Path) -> Json:
    """What to lay over a values file: the overlay, and its part for a model over each model that the file has.

    Args:
        file: of values/, or a team's own.

    Raises:
        ValueError: the file has no model, so that nothing would be installed.
    """
    models = (yaml.safe_load(file.read_text()) or {}).get("models") or {}
    if not models:
        raise ValueError(f"{file} has no model")
    overlay: Json = yaml.safe_load(OVERLAY.read_text())
    each = overlay.pop(EACH_MODEL)
    defaults = {key: value for key, value in overlay["defaults"].items() if key != "source"}
    return {**overlay, "defaults": defaults, "models": dict.fromkeys(models, each)}
