"""Look at an L2 root on this Pod's own mount, with a time limit: a network volume that is gone can block for ever."""

from __future__ import annotations

import os
import threading

from .. import names

LIST_SECONDS = 10.0


def chunk_files(root: str, at_most: float = LIST_SECONDS) -> set[str] | None:
    """Names of the chunk files in ``root``; None when it cannot be listed here within ``at_most`` seconds."""
    found: list[set[str]] = []

    def look() -> None:
        try:
            with os.scandir(root) as entries:
                found.append({e.name for e in entries if not e.name.startswith(".") and e.name != names.L2_CONFIG_FILE})
        except OSError:
            pass

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(at_most)
    return found[0] if found else None
