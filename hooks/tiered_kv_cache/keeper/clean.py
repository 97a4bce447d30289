"""Files that are no objects: temporary ones of dead writers, those set aside, and empty directories."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from ..l2 import paths
from . import layout
from .context import Context
from .table import Fingerprint, Strangers

Strange = Callable[[Fingerprint, str, Strangers], None]
Listed = list[tuple[str, os.stat_result | None]]


class Writers:
    """``tmp`` and ``use`` of one fingerprint.

    A writer is alive while anything of his was changed within the grace, on the filesystem's clock. Of a living writer
    nothing is removed but what he set aside: a store may take as long as it likes.
    """

    def __init__(self, x: Context, found: Fingerprint, strange: Strange) -> None:
        self._x, self._found, self._strange = x, found, strange
        self._ages: dict[str, float] = {}
        """Seconds since each writer's last sign of life."""

    def clean(self, root: int) -> None:
        """Look, and remove what dead writers left. Raises OSError."""
        x, found = self._x, self._found
        found.tmp_files = found.tmp_blocks = found.tmp_size = 0
        for place in [p for p in found.strangers if p.startswith((f"{paths.TMP}/", f"{paths.USE}/"))]:
            del found.strangers[place]
        with x.tree.directory(root, paths.TMP) as tmp, x.tree.directory(root, paths.USE) as use:
            stores, logs = self._listed(tmp, paths.TMP), self._listed(use, paths.USE)
            for writer, listed in stores.items():
                if tmp is not None:
                    self._stores(tmp, writer, listed)
            for writer, listed in logs.items():
                if use is not None:
                    self._logs(use, writer, listed)
        if self._ages:
            found.newest = max(found.newest, x.clamp(x.clock.now() - min(self._ages.values())))

    def _dead(self, writer: str) -> bool:
        return self._x.clock.steady and self._ages[writer] >= self._x.settings.grace.tmp

    def _listed(self, fd: int | None, place: str) -> dict[str, Listed]:
        listed: dict[str, Listed] = {}
        odd, x = Strangers(), self._x
        for writer, is_directory in x.tree.names(fd) if fd is not None else []:
            assert fd is not None
            if not is_directory or paths.parse_writer(writer) is None:
                odd.add(writer, x.tree.look(fd, writer))
                continue
            with x.tree.directory(fd, writer) as own:
                if own is None:
                    continue
                listed[writer] = x.tree.files(own)
                signs = [os.fstat(own), *(a for _, a in listed[writer] if a is not None)]
                self._ages[writer] = min(self._ages.get(writer, 1e18), *(x.age(a) for a in signs))
        self._strange(self._found, place, odd)
        return listed

    def _stores(self, tmp: int, writer: str, listed: Listed) -> None:
        x, found, odd, left, dead = self._x, self._found, Strangers(), len(listed), self._dead(writer)
        with x.tree.directory(tmp, writer) as fd:
            for name, about in listed if fd is not None else []:
                assert fd is not None
                kind = _kind(name)
                if not kind or (about is not None and not stat.S_ISREG(about.st_mode)):
                    odd.add(name, about)
                    continue
                old = kind == "bad" or (dead and kind == "tmp")
                if kind == "nfs":
                    old = about is not None and x.old(about, x.settings.grace.nfs)
                if old and x.remove(fd, name, found.lob, kind):
                    left -= 1
                elif about is not None:
                    found.tmp_files += 1
                    found.tmp_blocks += about.st_blocks
                    found.tmp_size += about.st_size
        self._strange(found, f"{paths.TMP}/{writer}", odd)
        if dead and left == 0:
            # Removing what was in it has just changed it; its writer is dead, so its own age does not matter.
            x.remove_directory(tmp, writer, found.lob)

    def _logs(self, use: int, writer: str, listed: Listed) -> None:
        odd = Strangers()
        for name, about in listed:
            if paths.number_of(name, paths.LOG_SUFFIX) is None and not layout.NFS.fullmatch(name):
                odd.add(name, about)
        self._strange(self._found, f"{paths.USE}/{writer}", odd)
        if not listed and self._dead(writer):
            self._x.remove_directory(use, writer, self._found.lob)


def empty(x: Context, found: Fingerprint, parent: int, name: str) -> bool:
    """Remove an empty directory if it is old; True if it is gone. A writer that comes back makes it again."""
    about = x.tree.look(parent, name)
    old = about is not None and x.old(about, x.settings.grace.directory)
    return old and x.remove_directory(parent, name, found.lob)


def _kind(name: str) -> str:
    if paths.number_of(name, paths.TMP_SUFFIX) is not None:
        return "tmp"
    if paths.number_of(name, paths.BAD_SUFFIX) is not None:
        return "bad"
    return "nfs" if layout.NFS.fullmatch(name) else ""
