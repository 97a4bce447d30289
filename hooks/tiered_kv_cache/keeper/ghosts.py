"""Ghosts: files that have attributes but cannot be read, since the pool lost the worker that held their bytes.

A ghost that comes back with its worker is no ghost, so one is removed only after several failed reads over a while during
which the pool was whole without a break, under one leader. Where nobody can tell, it stays, and people hear of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..l2 import paths
from . import layout
from .context import Context
from .health import Steady
from .table import Fingerprint
from .tree import UNREADABLE

MOST_SUSPECTS = 100_000
BETWEEN = 20
"""A suspect is read again after this part of the grace."""
Path = tuple[str, str, str]


@dataclass
class Suspect:
    """Times in seconds of the filesystem's clock."""

    first: int
    last: int
    reads: int = 1


class Ghosts:
    """Finds them, by reading a first block of a few objects each tick in turn, and removes them."""

    def __init__(self, context: Context, pool: Steady) -> None:
        self._x, self._pool = context, pool
        self.suspects: dict[tuple[Path, int], Suspect] = {}
        self._at: tuple[Path, int] | None = None

    def failed(self, found: Fingerprint, ident: int) -> None:
        """An object could not be read."""
        now, key = self._x.clock.now(), (found.path, ident)
        known = self.suspects.get(key)
        if known is None:
            if len(self.suspects) < MOST_SUSPECTS:
                self.suspects[key] = Suspect(now, now)
        elif now - known.last >= self._x.settings.grace.ghost / BETWEEN:
            known.last, known.reads = now, known.reads + 1

    def tick(self, root: int, rotate: bool = True) -> None:
        """Read suspects that are due, and the next few objects in turn; remove ghosts. ``root``: of v1."""
        x = self._x
        steady = self._pool.ask() if self.suspects else 0.0
        now = x.clock.now()
        due = [k for k, s in self.suspects.items() if now - s.last >= x.settings.grace.ghost / BETWEEN]
        for key in due[: x.settings.probes * 10]:
            self._probe(root, *key)
        for key in self._next(x.settings.probes if rotate else 0):
            self._probe(root, *key)
        kept = 0
        for key, suspect in list(self.suspects.items()):
            # Only reads since the pool is whole count: one that failed before may be of a worker that was away.
            since = max(suspect.first, now - steady)
            if suspect.reads < x.settings.ghost_reads or suspect.last - suspect.first < x.settings.grace.ghost:
                continue
            if steady and suspect.last - since >= x.settings.grace.ghost and x.clock.steady:
                self._remove(root, *key)
            else:
                kept += 1
        x.counts.ghosts_kept = kept
        if kept:
            x.events.say(
                "GhostsKept", "",
                f"{kept} objects cannot be read, and stay: the pool is not known to have been whole meanwhile "
                f"({self._pool.last.why}). Fix: bring its workers back, or set keeper.pool so that the keeper can tell",
            )  # fmt: skip

    def _next(self, count: int) -> list[tuple[Path, int]]:
        """The objects after the last one that was read, round and round."""
        chosen: list[tuple[Path, int]] = []
        order = sorted(self._x.table.fingerprints)
        if not order or count <= 0:
            return chosen
        path, ident = self._at if self._at is not None else (order[0], -1)
        start = next((i for i, p in enumerate(order) if p >= path), 0)
        for turn in range(len(order) + 1):
            here = order[(start + turn) % len(order)]
            shards = self._x.table.fingerprints[here].shards
            after = ident if here == path and turn == 0 else -1
            for number in range(max(0, after >> 56) if after >= 0 else 0, layout.SHARDS):
                shard = shards[number]
                for other in shard.ids if shard is not None else ():
                    if other > after:
                        chosen.append((here, other))
                        if len(chosen) >= count:
                            self._at = chosen[-1]
                            return chosen
        self._at = chosen[-1] if chosen else None
        return chosen

    def _probe(self, root: int, path: Path, ident: int) -> None:
        x, key = self._x, (path, ident)
        found = x.table.fingerprints.get(path)
        if found is None or found.find(ident) is None:
            self.suspects.pop(key, None)
            return
        try:
            with x.tree.directory(root, *path, paths.OBJECTS, *layout.directories(ident)) as fd:
                name = name_of(x, fd, ident)
                if fd is not None and name is not None:
                    x.tree.read(fd, name, 4096)
        except OSError as err:
            if err.errno in UNREADABLE:
                self.failed(found, ident)
            else:
                x.failed(err, found.lob)
            return
        self.suspects.pop(key, None)

    def _remove(self, root: int, path: Path, ident: int) -> None:
        x = self._x
        found = x.table.fingerprints[path]
        try:
            with x.tree.directory(root, *path, paths.OBJECTS, *layout.directories(ident)) as fd:
                name = name_of(x, fd, ident)
                if fd is not None and name is not None and not x.tree.dry:
                    x.tree.unlink(fd, name)
        except OSError as err:
            x.failed(err, found.lob)
            return
        known = found.find(ident)
        size = x.accounting.charge(known[0].size[known[1]], known[0].blocks[known[1]]) if known else 0
        x.counts.removed[found.lob, found.model, "ghost"] += 1
        x.counts.removed_bytes[found.lob, found.model, "ghost"] += size
        x.events.say("GhostsRemoved", found.lob, f"line of business {found.lob}: unreadable objects are being removed")
        found.drop(ident)
        del self.suspects[path, ident]


def name_of(x: Context, fd: int | None, ident: int) -> str | None:
    """The name of an object in its directory; None if it is not there."""
    for name, _ in x.tree.names(fd) if fd is not None else []:
        key = name.removesuffix(paths.OBJECT_SUFFIX)
        if key != name and layout.is_key(key) and layout.object_id(key) == ident:
            return name
    return None
