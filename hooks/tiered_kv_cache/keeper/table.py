"""What the keeper knows of the objects: 36 bytes each, in arrays, so that a million of them fit into a small Pod.

The objects of a fingerprint are kept in 256 shards, by the first byte of their hash, each sorted by the id: a shard is what
one step of the sweep replaces, and finding a row is one bisection.
"""

from __future__ import annotations

import os
import stat
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from . import layout

BLOCK = 512
EARLIEST = 1_577_836_800
"""2020: an earlier time is no time (0 of a filesystem that has none, a clock that was never set)."""
AHEAD_SECONDS = 5
"""A time that much later than now comes from another clock."""
LARGEST = 2**32 - 1
FEW = 4
"""A shard of which less than one in so many was known before is carried over by what was known."""
Row = tuple[int, int, int, int]
"""id, size in bytes, blocks of 512 bytes, mtime in seconds."""


class Shard:
    """Rows sorted by id. ``mtime`` 0: known from a log or a record, not yet seen in the tree.

    ``use``: seconds since the epoch of the last use, 0 unknown. ``pred``: id of the predecessor, 0 none. ``swept``: when
    it was last compared with the tree, 0 never.
    """

    __slots__ = ("blocks", "ids", "mtime", "pred", "size", "swept", "use")

    def __init__(self) -> None:
        self.ids, self.pred, self.size = array("Q"), array("Q"), array("Q")
        self.use, self.mtime, self.blocks = array("I"), array("I"), array("I")
        self.swept = 0

    def find(self, ident: int) -> int:
        """Index of a row, -1 if there is none."""
        at = bisect_left(self.ids, ident)
        return at if at < len(self.ids) and self.ids[at] == ident else -1

    def insert(self, ident: int) -> int:
        """Index of a new, empty row, or of the one that is there."""
        at = bisect_left(self.ids, ident)
        if at == len(self.ids) or self.ids[at] != ident:
            self.ids.insert(at, ident)
            for column in (self.pred, self.size, self.use, self.mtime, self.blocks):
                column.insert(at, 0)
        return at


@dataclass
class Clamped:
    """Times that were outside reason, of all fingerprints."""

    future: int = 0
    past: int = 0


@dataclass
class Strangers:
    """Names in one place that are not the keeper's: a few ``names``, how many in all, and what their files take."""

    names: list[str] = field(default_factory=list)
    count: int = 0
    blocks: int = 0
    size: int = 0

    MOST_NAMES: ClassVar[int] = 20

    def add(self, name: str, about: os.stat_result | None) -> None:
        """One more. Of a directory only itself counts."""
        self.count += 1
        if about is not None and stat.S_ISREG(about.st_mode):
            self.blocks += about.st_blocks
            self.size += about.st_size
        if len(self.names) < self.MOST_NAMES:
            self.names.append(name)


class Fingerprint:
    """The objects of one directory ``<line of business>/<model>/<fingerprint>``."""

    def __init__(self, lob: str, model: str, name: str) -> None:
        self.lob, self.model, self.name = lob, model, name
        self.shards: list[Shard | None] = [None] * layout.SHARDS
        self.objects = self.size = self.blocks = 0
        """Objects seen in the tree, their sizes in bytes, their blocks of 512 bytes."""
        self.newest = 0
        """Latest sign of life: a use, a store, a log, a temporary file."""
        self.tmp_blocks = self.tmp_size = self.tmp_files = 0
        self.untracked = self.untracked_blocks = self.untracked_size = 0
        self.plain_files = self.plain_blocks = self.plain_size = 0
        """Files of LMCache's own adapter."""
        self.clamped = Clamped()
        self.strangers: dict[str, Strangers] = {}
        """By place below the fingerprint."""
        self.dirty = False
        """Uses changed since the record was written."""
        self.loaded = False
        """The record has been looked for."""

    @property
    def path(self) -> tuple[str, str, str]:
        """Names below v1."""
        return self.lob, self.model, self.name

    def find(self, ident: int) -> tuple[Shard, int] | None:
        """Shard and index of a row."""
        shard = self.shards[ident >> 56]
        if shard is None or (at := shard.find(ident)) < 0:
            return None
        return shard, at

    def shard(self, number: int) -> Shard:
        """A shard, made if needed."""
        found = self.shards[number]
        if found is None:
            found = self.shards[number] = Shard()
        return found

    def swept(self, number: int) -> bool:
        """Whether a shard has been compared with the tree."""
        shard = self.shards[number]
        return shard is not None and shard.swept > 0

    def put(self, row: Row, now: int) -> None:
        """An object was seen outside a sweep."""
        ident, size, blocks, mtime = row
        shard = self.shard(ident >> 56)
        at = shard.insert(ident)
        if shard.mtime[at]:
            self._count(-1, shard.size[at], shard.blocks[at])
        shard.use[at] = max(shard.use[at], self._reason(mtime, now))
        self._set(shard, at, size, blocks, mtime)
        self._count(1, size, blocks)

    def drop(self, ident: int) -> None:
        """An object is gone."""
        found = self.find(ident)
        if found is None:
            return
        shard, at = found
        if shard.mtime[at]:
            self._count(-1, shard.size[at], shard.blocks[at])
        for column in (shard.ids, shard.pred, shard.size, shard.use, shard.mtime, shard.blocks):
            del column[at]

    def used(self, ident: int, when: int) -> None:
        """An object was used, and with it all before it.

        A predecessor is never older than what follows it, so the walk ends where nothing has to change; rings too.
        """
        while ident:
            found = self.find(ident)
            if found is None:
                return
            shard, at = found
            if shard.use[at] >= when:
                return
            shard.use[at] = when
            self.dirty = True
            ident = shard.pred[at]

    def follows(self, ident: int, before: int) -> None:
        """``before`` is the predecessor of ``ident``."""
        found = self.find(ident)
        if found is None or ident == before:
            return
        shard, at = found
        if shard.pred[at] != before:
            shard.pred[at] = before
            self.dirty = True
        self.used(before, shard.use[at])

    def replace(self, number: int, rows: list[Row], now: int, began: int) -> None:
        """What a sweep found in a shard: uses and predecessors are kept, what was not found is forgotten.

        ``began``: when the sweep of this shard began. An object that the sweep before did not see is younger than that
        sweep, whatever the clock of its writer says.
        """
        old, new = self.shard(number), Shard()
        rows.sort()
        if rows:
            ids, sizes, blocks, mtimes = zip(*rows, strict=True)
            new.ids, new.size = array("Q", ids), array("Q", sizes)
            new.blocks = array("I", blocks if max(blocks) <= LARGEST else [min(b, LARGEST) for b in blocks])
            usual = min(mtimes) >= 1 and max(mtimes) <= LARGEST
            new.mtime = array("I", mtimes if usual else [_stored(m) for m in mtimes])
        if new.ids == old.ids and new.mtime == old.mtime:
            # The usual case, many times faster.
            new.use, new.pred = old.use, old.pred
            raised: list[tuple[int, int]] = []
        else:
            raised = self._carry_over(old, new, rows, now)
            self.dirty = True
        for shard, sign in ((old, -1), (new, 1)):
            self.objects += sign * (len(shard.ids) - shard.mtime.count(0))
            # Rows that were never seen have neither size nor blocks.
            self.size += sign * sum(shard.size)
            self.blocks += sign * sum(shard.blocks)
        new.swept = began
        self.shards[number] = new
        if new.use:
            latest = max(new.use)
            self.newest = max(self.newest, latest)
        for pred, use in raised:
            self.used(pred, use)

    def _carry_over(self, old: Shard, new: Shard, rows: list[Row], now: int) -> list[tuple[int, int]]:
        """Fill uses and predecessors of ``new``; returns (predecessor, use) of all rows that have one."""
        few = len(old.ids) * FEW <= len(rows)
        if rows and few and min(new.mtime) >= EARLIEST and max(new.mtime) <= now + AHEAD_SECONDS:
            return self._carry_few(old, new, now)
        raised = []
        at, end = 0, len(old.ids)
        for ident, _, _, mtime in rows:
            while at < end and old.ids[at] < ident:
                at += 1
            pred = 0
            if at < end and old.ids[at] == ident:
                use, pred, before = old.use[at], old.pred[at], old.mtime[at]
                # What the record says is better than a time without reason.
                recorded = use and before == 0 and not EARLIEST <= mtime <= now + AHEAD_SECONDS
                if before != _stored(mtime) and not recorded:
                    use = max(use, self._reason(mtime, now))
            else:
                use = max(self._reason(mtime, now), old.swept)
            new.use.append(use)
            new.pred.append(pred)
            if pred:
                raised.append((pred, use))
        return raised

    def _carry_few(self, old: Shard, new: Shard, now: int) -> list[tuple[int, int]]:
        """The same, row by row of ``old``, where no time is to be doubted: in the first sweep after a start without a record
        nearly all rows are new."""
        new.use = array("I", [max(min(mtime, now), old.swept) for mtime in new.mtime])
        new.pred = array("Q", bytes(8 * len(new.ids)))
        raised = []
        for ident, use, pred, before in zip(old.ids, old.use, old.pred, old.mtime, strict=True):
            at = new.find(ident)
            if at < 0:
                continue
            new.use[at] = use if before == new.mtime[at] else max(use, min(new.mtime[at], now))
            new.pred[at] = pred
            if pred:
                raised.append((pred, new.use[at]))
        return raised

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        """id, use, size, blocks of all objects seen in the tree."""
        for shard in self.shards:
            if shard is not None:
                for ident, use, size, blocks, mtime in zip(
                    shard.ids, shard.use, shard.size, shard.blocks, shard.mtime, strict=True
                ):
                    if mtime:
                        yield ident, use, size, blocks

    def _reason(self, mtime: int, now: int) -> int:
        if mtime < EARLIEST:
            self.clamped.past += 1
            return now
        if mtime > now + AHEAD_SECONDS:
            self.clamped.future += 1
        return min(mtime, now)

    def _set(self, shard: Shard, at: int, size: int, blocks: int, mtime: int) -> None:
        shard.size[at], shard.blocks[at], shard.mtime[at] = size, min(blocks, LARGEST), _stored(mtime)
        self.newest = max(self.newest, shard.use[at])

    def _count(self, objects: int, size: int, blocks: int) -> None:
        sign = 1 if objects > 0 else -1
        self.objects += objects
        self.size += sign * size
        self.blocks += sign * min(blocks, LARGEST)


class Table:
    """All fingerprints of a volume."""

    def __init__(self) -> None:
        self.fingerprints: dict[tuple[str, str, str], Fingerprint] = {}
        self.strangers: dict[str, dict[str, Strangers]] = {}
        """Above the fingerprints: by line of business ("" for none) and place."""
        self.complete = False
        """Every shard has been compared with the tree since the start."""

    def get(self, path: tuple[str, str, str]) -> Fingerprint:
        """A fingerprint, made if needed."""
        found = self.fingerprints.get(path)
        if found is None:
            found = self.fingerprints[path] = Fingerprint(*path)
        return found

    def of(self, lob: str | None = None, model: str | None = None) -> list[Fingerprint]:
        """Fingerprints of a line of business, or of one of its models; of all without arguments."""
        return [
            f
            for f in self.fingerprints.values()
            if (lob is None or f.lob == lob) and (model is None or f.model == model)
        ]

    @property
    def objects(self) -> int:
        """Objects of the volume."""
        return sum(f.objects for f in self.fingerprints.values())


def _stored(mtime: int) -> int:
    """As kept: 0 means not seen."""
    return min(max(mtime, 1), LARGEST)
