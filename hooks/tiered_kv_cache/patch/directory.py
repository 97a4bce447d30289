"""The parameter object as the kubelet mounts it: one file a key, read again when it changes."""

from __future__ import annotations

import os
import threading
from pathlib import Path

_DATA = "..data"
"""The kubelet puts each version of a ConfigMap or Secret into a folder of its own, and this link to the one that counts."""


class Directory:
    """Files of a folder that somebody else replaces.

    Args:
        path: the folder. It need not be there yet, nor stay.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._version: object = None
        self._texts: dict[str, str] | None = None

    def read(self) -> dict[str, str] | None:
        """Texts by file name; None while the folder is missing, empty or unreadable. The answer is not to be changed."""
        try:
            with self._lock:
                if (version := self._look()) != self._version:
                    self._texts, self._version = self._load(), version
                return self._texts
        except (OSError, UnicodeDecodeError):
            return None

    def _look(self) -> object:
        """What is different after each change. Cheap: it is asked for at every request."""
        try:
            return os.readlink(self._path / _DATA)  # noqa: PTH115 - a text is enough
        except OSError:
            with os.scandir(self._path) as entries:
                files = [(entry.name, entry.stat()) for entry in entries if not entry.name.startswith("..")]
            return sorted((name, found.st_mtime_ns, found.st_ino, found.st_size) for name, found in files)

    def _load(self) -> dict[str, str] | None:
        # Resolved once: a change in between cannot mix two versions.
        link = self._path / _DATA
        folder = link.resolve() if link.exists() else self._path
        texts = {
            file.name: file.read_text()
            for file in folder.iterdir()
            if not file.name.startswith("..") and file.is_file()
        }
        return texts or None
