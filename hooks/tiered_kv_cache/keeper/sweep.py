"""The walk over the tree: a generator, so that a sweep of hours leaves room for everything else.

One step compares one shard (256 directories at most) with the tree. What it sees is judged by name alone; nothing is
followed, nothing is entered below the depth of the format.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import xxhash

from ..l2 import paths
from . import clean, layout, record
from .context import Context
from .ghosts import Ghosts
from .plain import Plain
from .table import Fingerprint, Row, Strangers
from .tree import LOCAL


@dataclass
class _Seen:
    """What one shard has shown so far. ``room``: rows that may still be kept in memory."""

    found: Fingerprint
    room: int
    known: frozenset[int]
    """Ids of the objects that the last sweep saw here."""
    rows: list[Row] = field(default_factory=list)
    strange: Strangers = field(default_factory=Strangers)


class Sweep:
    """Sweeps of one volume, one after the other."""

    def __init__(self, context: Context, ghosts: Ghosts) -> None:
        self._x, self._ghosts = context, ghosts
        self.done, self.total = 0, 0
        """Shards of the sweep under way."""

    def steps(self) -> Iterator[None]:
        """One sweep. Raises OSError when the volume itself cannot be walked."""
        began = time.monotonic()
        x = self._x
        with x.tree.top() as top, x.tree.directory(top, layout.VERSION) as root:
            found = self._fingerprints(root) if root is not None else []
            self.done, self.total = 0, layout.SHARDS * len(found)
            yield
            for path in found:
                assert root is not None
                try:
                    with x.tree.directory(root, *path) as fd:
                        if fd is not None:
                            yield from self._fingerprint(x.table.get(path), fd)
                except OSError as err:
                    if err.errno not in LOCAL:
                        raise
                    x.failed(err, path[0])
            for path in x.table.fingerprints.keys() - set(found):
                del x.table.fingerprints[path]
        x.table.complete = True
        x.counts.sweeps += 1
        x.counts.sweep_seconds = time.monotonic() - began

    def _fingerprints(self, root: int) -> list[tuple[str, str, str]]:
        x, found = self._x, []
        lobs = self._below(root, "", "", layout.TENANT, (paths.KEEPER,))
        strangers = {"": x.table.strangers.get("", {})}
        for lob in lobs:
            try:
                found += self._models(root, lob)
            except OSError as err:
                if err.errno not in LOCAL:
                    raise
                x.failed(err, lob)
                found += [path for path in x.table.fingerprints if path[0] == lob]
            strangers[lob] = x.table.strangers.get(lob, {})
        # Of lines of business that are gone nothing is remembered.
        x.table.strangers = strangers
        for path in found:
            x.table.get(path)
        return found

    def _models(self, root: int, lob: str) -> list[tuple[str, str, str]]:
        x, found = self._x, []
        with x.tree.directory(root, lob) as lob_fd:
            models = self._below(lob_fd, lob, lob, layout.MODEL, layout.NO_MODELS) if lob_fd is not None else []
            for model in models:
                assert lob_fd is not None
                with x.tree.directory(lob_fd, model) as fd:
                    names = self._below(fd, lob, f"{lob}/{model}", layout.FINGERPRINT) if fd is not None else []
                    found += [(lob, model, name) for name in names]
        return found

    def _below(self, fd: int, lob: str, place: str, fits: re.Pattern[str], own: tuple[str, ...] = ()) -> list[str]:
        good, strange = [], Strangers()
        for name, is_directory in self._x.tree.names(fd):
            if is_directory and fits.fullmatch(name):
                good.append(name)
            elif name not in own:
                strange.add(name, self._x.tree.look(fd, name))
        self._x.table.strangers.setdefault(lob, {})[place] = strange
        self._tell(lob, place, strange)
        return sorted(good)

    def _fingerprint(self, found: Fingerprint, fd: int) -> Iterator[None]:
        x = self._x
        if not found.loaded:
            record.load(x.tree, fd, found, x.clock.now(), x.settings.most_objects)
        about = os.fstat(fd)
        found.newest = max(found.newest, x.clamp(about.st_mtime))
        strange = Strangers()
        plain = Plain(x, found)
        for name, is_directory in x.tree.names(fd):
            if not layout.known_at_root(name) and not plain.took(fd, name, is_directory):
                strange.add(name, x.tree.look(fd, name))
        self._strange(found, "", strange)
        try:
            clean.Writers(x, found, self._strange).clean(fd)
        except OSError as err:
            # A writer's directory that is closed to the keeper must not hide the objects from it.
            if err.errno not in LOCAL:
                raise
            x.failed(err, found.lob)
        yield
        with x.tree.directory(fd, paths.OBJECTS) as objects:
            there = dict(x.tree.names(objects)) if objects is not None else {}
            strange = Strangers()
            for name, is_directory in there.items():
                if objects is not None and not (is_directory and layout.BYTE.fullmatch(name)):
                    strange.add(name, x.tree.look(objects, name))
            self._strange(found, paths.OBJECTS, strange)
            found.untracked = found.untracked_blocks = found.untracked_size = 0
            others = x.table.objects - found.objects
            for number in range(layout.SHARDS):
                room = x.settings.most_objects - others - found.objects + _rows(found, number)
                self._shard(found, number, objects if there.get(f"{number:02x}") else None, room)
                self.done += 1
                yield

    def _shard(self, found: Fingerprint, number: int, objects: int | None, room: int) -> None:
        x, name = self._x, f"{number:02x}"
        began = x.clock.now()
        seen = _Seen(found, room, frozenset(found.shard(number).ids) if found.swept(number) else frozenset())
        left = 0
        if objects is not None:
            try:
                left = self._directories(seen, objects, name)
            except OSError as err:
                self._fault(seen, err, number << 8, 256)
                left = 1
            if left == 0 and not seen.rows:
                clean.empty(x, found, objects, name)
        self._strange(found, f"{paths.OBJECTS}/{name}", seen.strange)
        found.replace(number, seen.rows, x.clock.now(), began)

    def _directories(self, seen: _Seen, objects: int, outer: str) -> int:
        """Read the directories below a first-level one; returns how many things are left in it."""
        x, left = self._x, 0
        with x.tree.directory(objects, outer) as fd:
            for inner, is_directory in x.tree.names(fd) if fd is not None else []:
                assert fd is not None
                if not is_directory or not layout.BYTE.fullmatch(inner):
                    seen.strange.add(inner, x.tree.look(fd, inner))
                    left += 1
                    continue
                try:
                    left += self._directory(seen, fd, outer + inner)
                except OSError as err:
                    self._fault(seen, err, int(outer + inner, 16), 1)
                    left += 1
        return left

    def _directory(self, seen: _Seen, above: int, prefix: str) -> bool:
        """Read one directory of objects; returns whether it is still there."""
        x, found, rows, inner = self._x, seen.found, seen.rows, prefix[2:]
        fd = x.tree.open(above, inner)
        if fd is None:
            return False
        try:
            listed = x.tree.files(fd)
            base = int(prefix, 16) << 48
            unsalted, digest, mask = layout.UNSALTED.fullmatch, xxhash.xxh3_64_intdigest, layout.ID_MASK
            regular, suffix, known = stat.S_ISREG, paths.OBJECT_SUFFIX, seen.known
            left = seen.room - len(rows)
            for name, about in listed:
                # is_key and object_id, spelt out: this runs a million times. What was an object is one by its id.
                key = name[:-3]
                ident = base | (digest(key.encode("utf-8", "surrogateescape")) & mask)
                if not (name[:4] == prefix and name[-3:] == suffix) or not (
                    ident in known or unsalted(key) or layout.is_key(key)
                ):
                    self._other(seen, fd, inner, name, about)
                elif about is None:
                    rows.append(self._unreadable(found, key))
                elif not regular(about.st_mode):
                    seen.strange.add(f"{inner}/{name}", about)
                elif left <= 0:
                    found.untracked += 1
                    found.untracked_blocks += about.st_blocks
                    found.untracked_size += about.st_size
                else:
                    rows.append((ident, about.st_size, about.st_blocks, int(about.st_mtime)))
                    left -= 1
        finally:
            os.close(fd)
        return bool(listed) or not clean.empty(x, found, above, inner)

    def _other(self, seen: _Seen, fd: int, inner: str, name: str, about: os.stat_result | None) -> None:
        x = self._x
        if about is None or not layout.NFS.fullmatch(name):
            seen.strange.add(f"{inner}/{name}", about)
        elif x.old(about, x.settings.grace.nfs):
            x.remove(fd, name, seen.found.lob, "nfs")

    def _fault(self, seen: _Seen, err: OSError, first: int, count: int) -> None:
        """A directory that cannot be read keeps the rows it had; what was read of it is forgotten.

        ``first``, ``count``: numbers of the directories, the upper 16 bits of their objects' ids.
        """
        if err.errno not in LOCAL:
            raise err
        self._x.failed(err, seen.found.lob)
        seen.rows[:] = [row for row in seen.rows if not first <= row[0] >> 48 < first + count]
        shard = seen.found.shard(first >> 8)
        for ident, size, blocks, mtime in zip(shard.ids, shard.size, shard.blocks, shard.mtime, strict=True):
            if mtime and first <= ident >> 48 < first + count:
                seen.rows.append((ident, size, blocks, mtime))

    def _unreadable(self, found: Fingerprint, key: str) -> Row:
        """A file without attributes keeps those it had."""
        ident = layout.object_id(key)
        self._ghosts.failed(found, ident)
        known = found.find(ident)
        if known is None:
            return ident, 0, 0, self._x.clock.now()
        shard, at = known
        return ident, shard.size[at], shard.blocks[at], shard.mtime[at]

    def _strange(self, found: Fingerprint, place: str, strange: Strangers) -> None:
        if strange.count:
            found.strangers[place] = strange
            self._tell(found.lob, "/".join((*found.path, place)).rstrip("/"), strange)
        else:
            found.strangers.pop(place, None)

    def _tell(self, lob: str, place: str, strange: Strangers) -> None:
        for name in strange.names:
            shown = f"{place}/{name}".lstrip("/")
            self._x.events.say(
                "UnknownFile", shown,
                f"{layout.VERSION}/{shown!r} is nothing the keeper knows, and stays. Fix: remove it by hand if nobody needs it",
            )  # fmt: skip


def _rows(found: Fingerprint, number: int) -> int:
    shard = found.shards[number]
    return 0 if shard is None else sum(1 for m in shard.mtime if m)
