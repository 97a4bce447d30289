"""Reads the writers' use logs into the table, and removes them once the record holds what they said."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from itertools import pairwise

from ..l2 import paths
from . import layout, record, uses
from .context import Context
from .table import Fingerprint

MOST_LOOKS = 20_000
"""Objects that one reading looks for in the tree because a log names them; more wait for the sweep."""
MOST_PENDING = 100_000
Mark = tuple[int, int, int]


def _mark(about: os.stat_result) -> Mark:
    return about.st_ino, about.st_size, about.st_mtime_ns


class Logs:
    """The logs of all fingerprints. A log is read once, and removed unchanged after the next record."""

    def __init__(self, context: Context) -> None:
        self._x = context
        self._read: dict[tuple[tuple[str, str, str], str, str], Mark] = {}
        """Read and still there, by fingerprint, writer and name."""

    def ingest(self, found: Fingerprint, root: int) -> int:
        """Read what is new below ``use`` of a fingerprint; returns how many logs."""
        x, count, looks = self._x, 0, 0
        with x.tree.directory(root, paths.USE) as use, x.tree.directory(root, paths.OBJECTS) as objects:
            for writer, is_directory in x.tree.names(use) if use is not None else []:
                if use is None or not is_directory or paths.parse_writer(writer) is None:
                    continue
                with x.tree.directory(use, writer) as own:
                    for name in self._numbered(own):
                        assert own is not None
                        about = x.tree.look(own, name)
                        key = (found.path, writer, name)
                        if about is None or self._read.get(key) == _mark(about) or len(self._read) >= MOST_PENDING:
                            continue
                        with contextlib.suppress(OSError):
                            read = x.tree.read(own, name, uses.MOST_BYTES)
                            if read is not None:
                                looks = self._apply(found, objects, *read, looks)
                                self._read[key] = _mark(read[1])
                                count += 1
        return count

    def settle(self, found: Fingerprint, root: int) -> None:
        """Write the record if anything changed, and remove the logs that it contains."""
        x = self._x
        pending = [k for k in self._read if k[0] == found.path]
        if x.tree.dry or not (found.dirty or pending):
            return
        record.save(x.tree, root, found)
        with x.tree.directory(root, paths.USE) as use:
            for key in pending:
                mark = self._read.pop(key)
                if use is None:
                    continue
                with x.tree.directory(use, key[1]) as own:
                    about = x.tree.look(own, key[2]) if own is not None else None
                    if own is not None and about is not None and _mark(about) == mark:
                        x.remove(own, key[2], found.lob, "log")

    def _numbered(self, own: int | None) -> list[str]:
        if own is None:
            return []
        numbers = ((paths.number_of(name, paths.LOG_SUFFIX), name) for name, d in self._x.tree.names(own) if not d)
        return [name for _, name in sorted((n, name) for n, name in numbers if n is not None)]

    def _apply(self, found: Fingerprint, objects: int | None, data: bytes, about: os.stat_result, looks: int) -> int:
        x = self._x
        now = x.clock.now()
        parsed = uses.parse(data, x.clamp(about.st_mtime), now)
        for kind, is_it in (
            ("large", about.st_size > uses.MOST_BYTES), ("bad", parsed.bad), ("skewed", parsed.skewed),
            ("good", not parsed.bad and about.st_size <= uses.MOST_BYTES),
        ):  # fmt: skip
            x.counts.logs[found.lob, kind] += is_it
        for entry in parsed.entries:
            found.newest = max(found.newest, entry.when)
            ids: list[int] = []
            for key in entry.names:
                ident = layout.object_id(key)
                ids.append(ident)
                if found.find(ident) is None and looks < MOST_LOOKS:
                    looks += found.swept(ident >> 56)
                    self._meet(found, objects, key, ident, now)
            self._mark(found, ids, entry.when)
            x.counts.marked[found.lob,] += len(ids)
        return looks

    def _mark(self, found: Fingerprint, ids: Sequence[int], when: int) -> None:
        for before, after in pairwise(ids):
            found.follows(after, before)
        # From the end: what precedes is then up to date already.
        for ident in reversed(ids):
            found.used(ident, when)

    def _meet(self, found: Fingerprint, objects: int | None, key: str, ident: int, now: int) -> None:
        """An object that the table does not know: stored since its shard was swept, or not swept yet, or gone."""
        x = self._x
        if not found.swept(ident >> 56):
            found.shard(ident >> 56).insert(ident)
            return
        if objects is None:
            return
        with contextlib.suppress(OSError), x.tree.directory(objects, *layout.directories(ident)) as fd:
            about = x.tree.look(fd, key + paths.OBJECT_SUFFIX) if fd is not None else None
            if about is not None and _regular(about) and x.table.objects < x.settings.most_objects:
                found.put((ident, about.st_size, about.st_blocks, int(about.st_mtime)), now)


def _regular(about: os.stat_result) -> bool:
    return about.st_mode & 0o170000 == 0o100000
