"""Publish a model folder in one step, so that a reader never sees half of one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

MARKER = "model-source.json"
LEFTOVER_AGE_S = 3600.0


def publish(target: Path, source: dict[str, object], write: Callable[[Path], None]) -> bool:
    """Let `write` fill a temporary folder beside `target`, then rename it into place.

    `source` says what the folder is made from; it is stored in the folder as `model-source.json` together with the
    sha256 of every file. A target that carries the same `source` is left alone. Returns True when a folder was written.

    The rename is atomic only within one file system, hence a temporary folder beside the target and not in /tmp.
    """
    marker = target / MARKER
    if marker.is_file() and json.loads(marker.read_text()).get("source") == source:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.tmp-", dir=target.parent))
    try:
        write(work)
        files = {p.name: _sha256(p) for p in sorted(work.iterdir()) if p.is_file()}
        (work / MARKER).write_text(json.dumps({"source": source, "sha256": files}, indent=2, sort_keys=True) + "\n")
        # Engines run as another uid than the writer, and mkdtemp gives 0700.
        work.chmod(0o755)
        for path in work.iterdir():
            path.chmod(0o644)
            with path.open("rb") as handle:
                os.fsync(handle.fileno())
        stale = None
        if target.exists():
            stale = Path(tempfile.mkdtemp(prefix=f".{target.name}.old-", dir=target.parent)) / "model"
            target.rename(stale)
        work.rename(target)
        if stale is not None:
            shutil.rmtree(stale.parent)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return True


def _sweep(target: Path) -> None:
    """Remove what runs that were killed left beside the target (older than an hour: a younger one may be at work)."""
    for leftover in target.parent.glob(f".{target.name}.*-*"):
        if time.time() - leftover.stat().st_mtime > LEFTOVER_AGE_S:
            shutil.rmtree(leftover, ignore_errors=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
