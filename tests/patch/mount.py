"""A folder as the kubelet mounts a ConfigMap or Secret: replaced as a whole."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path

_NUMBERS = count()


class Mount:
    """One of them.

    Args:
        path: it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, files: Mapping[str, bytes]) -> None:
        """Other content, in one step for whoever reads."""
        self.path.mkdir(parents=True, exist_ok=True)
        data = self.path / "..data"
        before = data.resolve() if data.exists() else None
        version = self.path / f"..version-{next(_NUMBERS)}"
        version.mkdir()
        for name, content in files.items():
            (version / name).write_bytes(content)
        link = self.path / "..data_tmp"
        link.symlink_to(version.name)
        link.rename(data)
        for file in self.path.iterdir():
            if not file.name.startswith("..") and file.name not in files:
                file.unlink()
        for name in files:
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")
        if before is not None:
            shutil.rmtree(before)

    def remove(self) -> None:
        """As if it had never been mounted."""
        if self.path.exists():
            shutil.rmtree(self.path)
