"""Old entries, attributes, sizes and free space that are shown for a while after a change."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Old:
    """What others see of a path until a moment: its former attributes, or None where there was nothing."""

    owner: int
    until: float
    attributes: os.stat_result | None


def process_of(thread: int) -> int:
    """The process of a thread's number: FUSE names the thread. Itself where it has gone."""
    try:
        for line in Path(f"/proc/{thread}/status").read_text().splitlines():
            if line.startswith("Tgid:"):
                return int(line.split()[1])
    except OSError:
        pass
    return thread


class Staleness:
    """Safe for many threads; empty costs nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._old: dict[str, Old] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._freed: list[tuple[float, int]] = []

    def changed(self, path: str, thread: int, before: os.stat_result | None, seconds: float) -> None:
        """A path was made, replaced or removed; others see what was before."""
        with self._lock:
            now = time.monotonic()
            known = self._old.get(path)
            # The oldest view that still holds stays, as in a cache that was filled once.
            if known is None or known.until <= now:
                self._old[path] = Old(process_of(thread), now + seconds, before)
            for gone in [name for name, old in self._old.items() if old.until <= now]:
                del self._old[gone]

    def seen(self, path: str, thread: int) -> Old | None:
        """What this caller is shown instead of the truth, if anything."""
        old = self._old.get(path)
        if old is None or old.until <= time.monotonic() or process_of(thread) == old.owner:
            return None
        return old

    def below(self, folder: str, thread: int) -> dict[str, Old]:
        """Name -> what this caller is shown, of the entries of a directory."""
        prefix = f"{folder}/" if folder else ""
        with self._lock:
            paths = [path for path in self._old if path.startswith(prefix) and "/" not in path[len(prefix) :]]
        return {path[len(prefix) :]: old for path in paths if (old := self.seen(path, thread))}

    def replaced(self, path: str, inode: int, old_size: int) -> None:
        """The new file of this path is seen with the old one's size, as long as it is that inode."""
        with self._lock:
            self._sizes[path] = (inode, old_size)

    def size(self, path: str, inode: int) -> int | None:
        """The old size that readers of this inode at this path see, or None."""
        known = self._sizes.get(path)
        return known[1] if known and known[0] == inode else None

    def freed(self, size: int, seconds: float) -> None:
        """So many bytes come back in statfs only later."""
        with self._lock:
            self._freed.append((time.monotonic() + seconds, size))

    def withheld(self) -> int:
        """Bytes that are free and not yet shown as free."""
        with self._lock:
            now = time.monotonic()
            self._freed = [one for one in self._freed if one[0] > now]
            return sum(size for _, size in self._freed)
