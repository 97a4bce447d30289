"""Where things are, and the environment of the packaged router."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from local_cluster import cache
from local_cluster.settings import PLACES, REPO

CHART = REPO / "charts" / "tiered-kv-cache"
LOCK = REPO / "images" / "router" / "requirements.lock"


def router_program() -> Path:
    """vllm-router of the image's lock file, in an environment of its own in the cache; made once (130 MB, 15 s)."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(LOCK.read_bytes() + version.encode()).hexdigest()[:12]
    PLACES.cache.mkdir(parents=True, exist_ok=True)
    folder = PLACES.cache / f"router-venv-{key}"
    with (PLACES.cache / "router-venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes side by side: the second finds it done
        if not (folder / ".done").exists():
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", "--no-compile"]
            subprocess.run([*pip, "--require-hashes", "-r", str(LOCK)], check=True)
            (folder / ".done").touch()
        cache.use(folder)
    return folder / "bin" / "vllm-router"
