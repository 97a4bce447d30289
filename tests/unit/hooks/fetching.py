"""Runs fetch as the Pods do: as processes of their own, against a hub or a bucket on loopback."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulators.hub import COMMIT, Hub
from emulators.s3 import S3
from tiered_kv_cache import names

from .models import CONFIG

HOOKS = Path(names.__file__).parents[1]
LEASE = 3.0


def model_files(size: int = 4 << 20) -> dict[str, bytes]:
    """A model's repository: two shards, small files, and some that no engine needs."""
    chance = random.Random(size)
    return {
        "config.json": json.dumps(CONFIG).encode(),
        "model-00001-of-00002.safetensors": chance.randbytes(size),
        "model-00002-of-00002.safetensors": chance.randbytes(size // 2),
        "model.safetensors.index.json": b"{}",
        "tokenizer.json": b'{"version": 1}' * 100,
        "pytorch_model.bin": b"old" * 1000,
        "README.md": b"# model",
        "original/consolidated.00.pth": b"other",
        ".gitattributes": b"",
    }


NEEDED = sorted(name for name in model_files(0) if name.endswith((".json", ".safetensors")))


def hub_source(hub: Hub, **change: Any) -> dict[str, Any]:
    """What the chart renders for this hub."""
    return {"huggingFace": {"id": hub.id, "revision": COMMIT, "endpoint": hub.url, **change}}


def s3_source(service: S3, **change: Any) -> dict[str, Any]:
    """What the chart renders for this bucket."""
    return {"s3": {"bucket": service.bucket, "prefix": "tiny", "endpoint": service.url, **change}}


@dataclass
class Pod:
    """One init container. ``uid`` stays when the container is restarted."""

    store: Path
    source: dict[str, Any]
    uid: str
    options: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    lease: float = LEASE

    @property
    def link(self) -> Path:
        """Where the engine looks."""
        return self.store.parent / f"link-{self.uid}" / "tiny"

    def start(self) -> subprocess.Popen[str]:
        """Start the container."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HF_")) and "proxy" not in k.lower()}
        env = clean | {
            "PYTHONPATH": str(HOOKS),
            names.ENV_SOURCE: json.dumps(self.source),
            names.ENV_POD_UID: self.uid,
            names.ENV_POD_NAME: f"pod-{self.uid}",
        }
        if "s3" in self.source:
            env |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret-key"}
        words = ["--store", str(self.store), "--model", "tiny", "--link", str(self.link), "--lease", str(self.lease)]
        return subprocess.Popen(
            [sys.executable, "-m", "tiered_kv_cache", "fetch", *words, *self.options],
            env=env | self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self) -> Ended:
        """Start it and wait for its end."""
        return ended(self.start())


@dataclass
class Ended:
    """How a container ended."""

    code: int
    out: str
    err: str


def ended(process: subprocess.Popen[str], seconds: float = 60) -> Ended:
    """Wait for the end."""
    out, err = process.communicate(timeout=seconds)
    return Ended(process.returncode, out, err)


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder but the marker."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != names.MODEL_MARKER
    }


def leftovers(store: Path) -> list[str]:
    """What is in the store beside finished models."""
    return sorted(str(p) for p in store.rglob(".*") if p.name != names.MODEL_MARKER)
