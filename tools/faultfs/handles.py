"""Open files of the mount."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass


@dataclass
class Handle:
    """An open file: the backing descriptor, the path it was opened by, its inode, and whether it answers ESTALE."""

    fd: int
    path: str
    inode: int
    stale: bool = False


class Handles:
    """Descriptor -> handle. The kernel names a handle by its descriptor. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, Handle] = {}

    def add(self, fd: int, path: str) -> int:
        """Keep a descriptor that was just opened; the handle's number."""
        with self._lock:
            self._open[fd] = Handle(fd, path, os.fstat(fd).st_ino)
        return fd

    def __getitem__(self, number: int) -> Handle:
        return self._open[number]

    def close(self, number: int) -> Handle:
        """Forget a handle and close its descriptor."""
        with self._lock:
            handle = self._open.pop(number)
        os.close(handle.fd)
        return handle

    def make_stale(self, inode: int) -> int:
        """Let all handles of a file answer ESTALE; how many there were."""
        with self._lock:
            found = [handle for handle in self._open.values() if handle.inode == inode]
        for handle in found:
            handle.stale = True
        return len(found)
