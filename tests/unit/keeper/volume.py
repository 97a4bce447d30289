"""A volume in a folder, written as engines write it, and a keeper of it whose clock a test can move."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from tiered_kv_cache.keeper import config
from tiered_kv_cache.keeper.clock import Clock
from tiered_kv_cache.keeper.events import Events
from tiered_kv_cache.keeper.health import Health
from tiered_kv_cache.keeper.keeper import Keeper
from tiered_kv_cache.l2 import format as l2format
from tiered_kv_cache.l2 import paths

FINGERPRINT = "0123456789abcdef"
WRITER = "engine-0.0a1b2c3d"
BLOCK = 4096
DAY = 86400.0


def name(label: object) -> str:
    """The name of an object, spread over directories as hashes are."""
    return paths.object_name(sha256(str(label).encode()).digest(), 1)


class MovedClock(Clock):
    """The filesystem's clock, some seconds ahead. Moving it is no jump."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0

    def read(self, seconds: float) -> None:
        """See Clock."""
        super().read(seconds + self._ahead)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._ahead += seconds
        if self._last is not None:
            self._last = (self._last[0] + seconds, self._last[1])


class Told(Events):
    """Events that remember."""

    def __init__(self) -> None:
        super().__init__(log=self._note)
        self.lines: list[str] = []

    def _note(self, line: str) -> None:
        self.lines.append(line)

    def reasons(self) -> list[str]:
        """Reasons in the order in which they were told."""
        return [line.partition(":")[0] for line in self.lines]


class Root:
    """A fingerprint's directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._logs = 0
        path.mkdir(parents=True, exist_ok=True)

    def file(self, label: object) -> Path:
        """Where an object lies."""
        return self.path / paths.object_path(name(label))

    def put(self, *labels: object, blocks: int = 1, mtime: float | None = None) -> None:
        """Store objects of some blocks of 4,096 bytes."""
        for label in labels:
            file = self.file(label)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"k" * (BLOCK * blocks))
            if mtime is not None:
                os.utime(file, (mtime, mtime))

    def log(self, when: float, kind: str, *labels: object, writer: str = WRITER, mtime: float | None = None) -> Path:
        """Write a use log of one chain, as the adapter does: its file is as old as what it tells."""
        text = l2format.format_lines(int(when), kind, [name(x) for x in labels])
        return self.raw_log(text.encode(), writer=writer, mtime=when if mtime is None else mtime)

    def raw_log(self, data: bytes, writer: str = WRITER, mtime: float | None = None) -> Path:
        """Write bytes as a use log."""
        folder = self.path / paths.use_directory(writer)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self._logs}.log"
        self._logs += 1
        file.write_bytes(data)
        if mtime is not None:
            os.utime(file, (mtime, mtime))
        return file

    def tmp(self, file: str, writer: str = WRITER, size: int = BLOCK) -> Path:
        """A temporary file."""
        folder = self.path / paths.tmp_directory(writer)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(b"t" * size)
        return folder / file

    def there(self, *labels: object) -> list[object]:
        """Those of the objects that are there."""
        return [x for x in labels if self.file(x).exists()]


class Volume:
    """A mount point with a tree."""

    def __init__(self, mount: Path) -> None:
        self.mount = mount
        (mount / "v1").mkdir(parents=True)

    def root(self, lob: str = "retail", model: str = "tiny", fingerprint: str = FINGERPRINT) -> Root:
        """A fingerprint's directory."""
        return Root(self.mount / "v1" / lob / model / fingerprint)

    def keeper(
        self,
        health: Callable[[], Health] = lambda: Health(None, "nobody knows"),
        dry: bool = False,
        allowed: Callable[[], None] = lambda: None,
        **settings: Any,
    ) -> Keeper:
        """A keeper without limits of rate; ``settings`` as in the file, ``grace.object`` 0 unless given."""
        raw = {"sweep": {"operationsPerSecond": 0}, "evict": {"filesPerSecond": 0}} | settings
        raw["grace"] = {"object": 0} | raw.get("grace", {})
        return Keeper(
            config.parse(raw, "test", str(self.mount)),
            allowed,
            dry=dry,
            events=Told(),
            health=health,
            clock=MovedClock(),
        )

    def everything(self) -> dict[str, tuple[int, bytes]]:
        """Mode and content of all files and directories, links as links."""
        found = {}
        for folder, directories, files in os.walk(self.mount):
            for entry in (*directories, *files):
                path = Path(folder) / entry
                about = path.lstat()
                content = b""
                if path.is_symlink():
                    content = str(path.readlink()).encode()
                elif path.is_file():
                    content = path.read_bytes()
                found[str(path.relative_to(self.mount))] = (about.st_mode, content)
        return found


def clock(keeper: Keeper) -> MovedClock:
    """The keeper's clock."""
    assert isinstance(keeper.x.clock, MovedClock)
    return keeper.x.clock


def told(keeper: Keeper) -> Told:
    """The keeper's events."""
    assert isinstance(keeper.x.events, Told)
    return keeper.x.events


def removed(keeper: Keeper, why: str) -> int:
    """Objects removed for a reason."""
    return sum(v for k, v in keeper.x.counts.removed.items() if k[2] == why)


def cleaned(keeper: Keeper, kind: str) -> int:
    """Other things removed."""
    return sum(v for k, v in keeper.x.counts.cleaned.items() if k[1] == kind)
