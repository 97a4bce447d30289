"""Configuration that the chart renders as JSON and a verb reads: from a file, from standard input, or from the environment."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from .findings import UsageError


def text_of(file: str | None, variable: str, doing: str) -> tuple[str, str]:
    """The text and where it came from. ``doing``: "verify", for messages. Raises UsageError."""
    if file == "-":
        return sys.stdin.read(), "--config -"
    if file:
        try:
            return Path(file).read_text(encoding="utf-8"), f"--config {file}"
        except (OSError, UnicodeDecodeError) as err:
            raise UsageError(f"--config {file} cannot be read: {err}. Fix: give a JSON file") from err
    text = os.environ.get(variable)
    if not text:
        raise UsageError(
            f"there is nothing to {doing}. Fix: give --config FILE or set {variable}, as the chart renders it"
        )
    return text, variable


def read(text: str, source: str) -> dict[str, Any]:
    """The object in it. Raises UsageError."""
    try:
        raw = json.loads(text)
    except ValueError as err:
        raise UsageError(f"{source} is not JSON: {err}. Fix: give the object that the chart renders") from err
    if not isinstance(raw, dict):
        raise UsageError(
            f"{source} must be an object, not {type(raw).__name__}. Fix: give the object that the chart renders"
        )
    return raw
