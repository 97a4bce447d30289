"""Look at the L2 volume on this Pod's own mount, with a time limit: a network volume that is gone can block for ever."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .. import names

LIST_SECONDS = 10.0
MOST_BYTES = 1_000_000
"""Of a file that is read; config.json has some thousand."""
T = TypeVar("T")


def chunk_files(root: str, at_most: float = LIST_SECONDS) -> set[str] | None:
    """Names of the chunk files in ``root``; None when it cannot be listed here within ``at_most`` seconds."""

    def look() -> set[str]:
        with os.scandir(root) as entries:
            return {e.name for e in entries if not e.name.startswith(".") and e.name != names.L2_CONFIG_FILE}

    return _within(at_most, look) if root else None


def read(path: str, at_most: float = LIST_SECONDS) -> str | None:
    """Text of a file; None when it cannot be read here within ``at_most`` seconds."""

    def look() -> str:
        with Path(path).open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")

    return _within(at_most, look)


def _within(seconds: float, look: Callable[[], T]) -> T | None:
    found: list[T] = []

    def target() -> None:
        with contextlib.suppress(OSError):
            found.append(look())

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None
