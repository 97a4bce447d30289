"""Removes objects that were chosen, each looked at again just before: what became hot meanwhile stays."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from itertools import groupby

from ..l2 import paths
from . import layout
from .context import Context
from .ghosts import name_of
from .logs import Logs
from .plan import Victim
from .tree import LOCAL, Tree

SLICE = 100
"""Objects between two readings of the use logs."""


class Evictor:
    """Removes objects at the rate of the settings."""

    def __init__(
        self, context: Context, logs: Logs, clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._x, self._logs, self._clock, self._sleep = context, logs, clock, sleep
        self._next = clock()
        self.last_delete = -1e9
        """When the last object went, by this process' own clock."""

    def run(self, root: int, victims: Sequence[Victim], why: str) -> int:
        """Remove what still may go; returns how many went. ``root``: descriptor of v1. Raises LeaseLost."""
        gone = 0
        for start in range(0, len(victims), SLICE):
            part = victims[start : start + SLICE]
            self._x.tree.allowed()
            self._reread(root, part)
            for _, of_one in groupby(part, key=lambda v: v.found.path):
                gone += self._of_one(root, list(of_one), why)
        return gone

    def _reread(self, root: int, part: Sequence[Victim]) -> None:
        for path in {v.found.path: None for v in part}:
            with self._x.tree.directory(root, *path) as fd:
                if fd is not None:
                    self._logs.ingest(self._x.table.get(path), fd)

    def _of_one(self, root: int, victims: list[Victim], why: str) -> int:
        """Victims of one fingerprint, whose directory stays open."""
        x, gone = self._x, 0
        with x.tree.directory(root, *victims[0].found.path, paths.OBJECTS) as objects:
            for victim in victims:
                row = victim.found.find(victim.ident)
                if row is None:
                    x.counts.spared[("gone",)] += 1
                elif row[0].use[row[1]] != victim.use:
                    x.counts.spared[("used",)] += 1
                else:
                    try:
                        gone += self._one(objects, victim, row[0].mtime[row[1]], why)
                    except OSError as err:
                        if err.errno not in LOCAL:
                            raise
                        x.failed(err, victim.found.lob)
                        x.counts.spared[("error",)] += 1
        return gone

    def _one(self, objects: int | None, victim: Victim, mtime: int, why: str) -> bool:
        x, found = self._x, victim.found
        outer, inner = layout.directories(victim.ident)
        removed = False
        if objects is not None:
            with x.tree.directory(objects, outer, inner) as fd:
                name = name_of(x, fd, victim.ident)
                about = x.tree.look(fd, name) if fd is not None and name is not None else None
                if fd is not None and name is not None and about is not None:
                    if self._changed(about, mtime, why):
                        found.put((victim.ident, about.st_size, about.st_blocks, int(about.st_mtime)), x.clock.now())
                        found.used(victim.ident, x.clamp(x.clock.exact() - max(0.0, x.age(about))))
                        x.counts.spared[("changed",)] += 1
                        return False
                    removed = x.tree.dry or self._unlink(x.tree, fd, name)
        found.drop(victim.ident)
        if not removed:
            x.counts.spared[("gone",)] += 1
            return False
        x.counts.removed[found.lob, found.model, why] += 1
        x.counts.removed_bytes[found.lob, found.model, why] += victim.charge
        return True

    def _changed(self, about: os.stat_result, mtime: int, why: str) -> bool:
        """Stored anew, or no file any more; and what is removed for its age must be old by the inode's own time too."""
        settings = self._x.settings
        ages = {"ttl": settings.ttl, "orphan": settings.grace.orphan}
        grace = max(settings.grace.object, ages.get(why, 0.0))
        return (
            not stat.S_ISREG(about.st_mode)
            or min(max(int(about.st_mtime), 1), 2**32 - 1) != mtime
            or (grace > 0 and self._x.age(about) < grace)
        )

    def _unlink(self, tree: Tree, fd: int, name: str) -> bool:
        self._wait()
        removed = tree.unlink(fd, name)
        self.last_delete = self._clock()
        return removed

    def _wait(self) -> None:
        rate = self._x.settings.deletes
        if rate <= 0:
            return
        while (left := self._next - self._clock()) > 0:
            self._x.tree.allowed()
            self._sleep(min(left, 0.5))
        self._next = max(self._next, self._clock() - 0.1) + 1 / rate
