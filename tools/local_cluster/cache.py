"""Caches that do not grow for ever."""

from __future__ import annotations

import shutil
from pathlib import Path

_KEPT = 2
"""Versions kept of each thing: two clones that take turns then do not build again each time."""


def use(current: Path) -> Path:
    """Mark a versioned file or folder as used, and remove all but the newest of its kind.

    Its kind is what lies beside it under the same name up to the last `-`; a folder of versions holds one kind.
    """
    current.touch()
    prefix = current.name.rsplit("-", 1)[0] + "-" if "-" in current.name else ""
    kind = [path for path in current.parent.glob(f"{prefix}*") if not path.name.startswith(".")]
    kind.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in kind[_KEPT:]:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)
    return current
