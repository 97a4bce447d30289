"""The operations: each is passed to the backing directory unless a fault meets it."""

# The system calls themselves, on text that need not be valid UTF-8:
# ruff: noqa: PTH101, PTH102, PTH106, PTH108, PTH115, PTH116, PTH211

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import data
from .handles import Handles
from .rules import Rule, Rules
from .staleness import Staleness
from .syscalls import rename_with_flags
from .watch import Watch

UTIME_NOW, UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
STAT = "st_mode st_ino st_nlink st_uid st_gid st_rdev st_size st_blksize st_blocks st_atime_ns st_mtime_ns st_ctime_ns".split()


class Fired:
    """The faults that met one operation, waited for and not failed; what is left is the operation's own business."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = {rule.kind: rule for rule in rules}

    def __contains__(self, kind: str) -> bool:
        return kind in self._rules

    def __getitem__(self, kind: str) -> dict[str, Any]:
        return self._rules[kind].params


class Filesystem:
    """Paths are relative to the mount, without a leading slash; the mount itself is the empty path.

    Args:
        backing: the directory that holds what is stored. It is opened once, so that it may lie below the mount point.
    """

    def __init__(self, backing: Path, rules: Rules, watch: Watch) -> None:
        self._root = os.open(backing, os.O_PATH | os.O_DIRECTORY)
        self.rules, self.watch = rules, watch
        self._handles = Handles()
        self._directories: dict[int, str] = {}
        self._numbers = itertools.count(1)
        self._staleness = Staleness()
        self._is_root = os.geteuid() == 0

    def _real(self, path: str) -> str:
        return f"/proc/self/fd/{self._root}/{path or '.'}"

    @contextlib.contextmanager
    def _operation(
        self, op: str, *paths: str, pid: int = 0, size: int = 0, stream: int = 0, also: str = ""
    ) -> Iterator[Fired]:
        ticket, error = self.watch.begin(op, paths[0], pid), ""
        try:
            rules = self.rules.fire({op, also}, *paths)
            for rule in rules:
                self.rules.apply(rule, size, stream)
            yield Fired(rules)
        except OSError as failed:
            error = errno.errorcode.get(failed.errno or 0, str(failed.errno))
            raise
        finally:
            self.watch.end(ticket, error)

    # What is there

    def stat(self, path: str, pid: int) -> dict[str, int]:
        """Attributes by a path, as this caller sees them."""
        with self._operation("stat", path, pid=pid):
            if old := self._staleness.seen(path, pid):
                if old.attributes is None:
                    raise OSError(errno.ENOENT, "not seen yet")
                return self._attributes(old.attributes)
            found = os.lstat(self._real(path))
            return self._attributes(found, self._seen_size(path, found.st_ino))

    def stat_open(self, number: int, pid: int) -> dict[str, int]:
        """Attributes of an open file."""
        handle = self._handles[number]
        with self._operation("stat", handle.path, pid=pid):
            if handle.stale:
                raise OSError(errno.ESTALE, handle.path)
            return self._attributes(os.fstat(handle.fd), self._seen_size(handle.path, handle.inode))

    def _seen_size(self, path: str, inode: int) -> int | None:
        return self._staleness.size(path, inode) if self.rules.on("old_size") else None

    @staticmethod
    def _attributes(found: os.stat_result, size: int | None = None) -> dict[str, int]:
        shown = {name.removesuffix("_ns"): int(getattr(found, name)) for name in STAT}
        return shown if size is None else {**shown, "st_size": size}

    def opendir(self, path: str) -> int:
        """A number for a directory that is about to be read."""
        number = next(self._numbers)
        self._directories[number] = path
        return number

    def releasedir(self, number: int) -> None:
        del self._directories[number]

    def readdir(self, number: int, pid: int) -> list[tuple[str, dict[str, int], int]]:
        """Names with their types and inodes, as this caller sees them."""
        path = self._directories[number]
        with self._operation("readdir", path, pid=pid):
            with os.scandir(self._real(path)) as entries:
                names = {entry.name: (_type(entry), entry.inode()) for entry in entries}
            for name, old in self._staleness.below(path, pid).items():
                if old.attributes is None:
                    names.pop(name, None)
                else:
                    names[name] = (old.attributes.st_mode, old.attributes.st_ino)
            names |= {".": (stat.S_IFDIR, 0), "..": (stat.S_IFDIR, 0)}
            return [(name, {"st_mode": mode, "st_ino": inode}, 0) for name, (mode, inode) in names.items()]

    def readlink(self, path: str, pid: int) -> str:
        with self._operation("readlink", path, pid=pid):
            return os.readlink(self._real(path))

    def statfs(self, path: str, pid: int) -> dict[str, int]:
        """Space and inodes, with what is withheld and what is made up."""
        with self._operation("statfs", path, pid=pid) as fired:
            found = os.statvfs(self._real(path))
            shown = {name: int(getattr(found, name)) for name in dir(found) if name.startswith("f_")}
            for free in ("f_bfree", "f_bavail"):
                shown[free] = max(0, shown[free] - self._staleness.withheld() // found.f_frsize)
            if "statfs" in fired:
                asked = fired["statfs"]
                names = {
                    "f_blocks": ("total_bytes", found.f_frsize),
                    "f_bfree": ("free_bytes", found.f_frsize),
                    "f_bavail": ("free_bytes", found.f_frsize),
                    "f_files": ("total_files", 1),
                    "f_ffree": ("free_files", 1),
                    "f_favail": ("free_files", 1),
                }
                shown |= {name: asked[key] // unit for name, (key, unit) in names.items() if asked[key] >= 0}
            return shown

    # Open files

    def open(self, path: str, flags: int, pid: int) -> int:
        """Open for reading or writing; the handle's number. O_DIRECT ends here: our buffers are not aligned."""
        writes = (flags & os.O_ACCMODE) != os.O_RDONLY
        with self._operation("open", path, pid=pid, also="open_write" if writes else "") as fired:
            fd = os.open(self._real(path), self._flags(flags, fired) & ~os.O_TRUNC)
            number = self._handles.add(fd, path)
        if flags & os.O_TRUNC:
            # The kernel leaves it to us; it is a truncation like any other.
            try:
                self.truncate(path, 0, number, pid)
            except OSError:
                self._handles.close(number)
                raise
        return number

    def create(self, path: str, flags: int, mode: int, owner: tuple[int, int], pid: int) -> int:
        """Make and open a file; owner is the caller's uid and gid."""
        with self._operation("create", path, pid=pid) as fired:
            before = self._before(path)
            fd = os.open(self._real(path), self._flags(flags, fired) | os.O_CREAT, mode)
            if before is None:
                self._own(fd, owner)
                self._changed(fired, path, pid, before)
            return self._handles.add(fd, path)

    @staticmethod
    def _flags(flags: int, fired: Fired) -> int:
        # O_APPEND would send a write to the end of the backing file and ignore the offset that the kernel chose.
        return (flags & ~(os.O_DIRECT | os.O_APPEND)) | (os.O_NOATIME if "noatime" in fired else 0)

    def read_into(self, buffer: memoryview, offset: int, number: int, pid: int) -> int:
        """Fill the kernel's buffer from an offset; how many bytes."""
        handle, asked = self._handles[number], len(buffer)
        with self._operation("read", handle.path, pid=pid, size=asked, stream=number) as fired:
            if handle.stale:
                raise OSError(errno.ESTALE, handle.path)
            seen = self._seen_size(handle.path, handle.inode)
            if seen is not None:
                buffer = buffer[: max(0, seen - offset)]
            if "short_read" in fired:
                buffer = buffer[: data.kept(len(buffer), fired["short_read"]["keep"])]
            done = os.preadv(handle.fd, [buffer], offset) if len(buffer) else 0
            if "zeros" in fired:
                data.blank(buffer[:done], fired["zeros"]["keep"])
            if "flip" in fired:
                data.flip(buffer[:done], fired["flip"]["bits"], self.rules.random)
            self.watch.moved("read", done)
            return done

    def write_from(self, buffer: memoryview, offset: int, number: int, pid: int) -> int:
        """Store what the kernel hands over; how many bytes it is told."""
        handle, asked = self._handles[number], len(buffer)
        with self._operation("write", handle.path, pid=pid, size=asked, stream=number) as fired:
            if handle.stale:
                raise OSError(errno.ESTALE, handle.path)
            if "ignore" in fired:
                return asked
            if "lost_tail" in fired:
                keep = int(asked * fired["lost_tail"]["keep"])
                self.watch.moved("write", os.pwrite(handle.fd, buffer[:keep], offset) if keep else 0)
                return asked
            done = os.pwrite(handle.fd, buffer, offset)
            self.watch.moved("write", done)
            return done

    def flush(self, number: int, pid: int) -> None:
        """close(2) of one descriptor: an error here is close's error."""
        with self._operation("flush", self._handles[number].path, pid=pid):
            pass

    def fsync(self, number: int, pid: int, *, data_only: bool) -> None:
        handle = self._handles[number]
        with self._operation("fsync", handle.path, pid=pid) as fired:
            if "ignore" not in fired:
                (os.fdatasync if data_only else os.fsync)(handle.fd)

    def release(self, number: int, pid: int) -> None:
        """The last close. Nobody is told of an error, and the descriptor goes in any case."""
        handle = self._handles[number]
        try:
            with self._operation("release", handle.path, pid=pid) as fired:
                if "cut" in fired:
                    # Through a descriptor of its own: this one may be for reading.
                    again = os.open(f"/proc/self/fd/{handle.fd}", os.O_WRONLY)
                    try:
                        os.ftruncate(again, int(os.fstat(again).st_size * fired["cut"]["keep"]))
                    finally:
                        os.close(again)
        finally:
            self._handles.close(number)

    def truncate(self, path: str, size: int, number: int | None, pid: int) -> None:
        name = path if number is None else self._handles[number].path
        with self._operation("truncate", name, pid=pid) as fired:
            if "ignore" in fired:
                return
            target: str | int = self._real(path) if number is None else self._handles[number].fd
            before = os.stat(target)
            os.truncate(target, size)
            self._changed(fired, name, pid, before)
            self._freed(fired, before.st_blocks * 512 - os.stat(target).st_blocks * 512)

    def fallocate(self, number: int, mode: int, offset: int, length: int, pid: int) -> None:
        handle = self._handles[number]
        with self._operation("fallocate", handle.path, pid=pid, size=length):
            if mode:
                raise OSError(errno.EOPNOTSUPP, "only plain preallocation")
            os.posix_fallocate(handle.fd, offset, length)

    # Names

    def mkdir(self, path: str, mode: int, owner: tuple[int, int], pid: int) -> None:
        with self._operation("mkdir", path, pid=pid) as fired:
            os.mkdir(self._real(path), mode)
            self._own(self._real(path), owner)
            self._changed(fired, path, pid, None)

    def symlink(self, path: str, target: str, owner: tuple[int, int], pid: int) -> None:
        with self._operation("symlink", path, pid=pid) as fired:
            os.symlink(target, self._real(path))
            self._own(self._real(path), owner)
            self._changed(fired, path, pid, None)

    def link(self, old: str, new: str, pid: int) -> None:
        with self._operation("link", old, new, pid=pid) as fired:
            os.link(self._real(old), self._real(new), follow_symlinks=False)
            self._changed(fired, new, pid, None)

    def rmdir(self, path: str, pid: int) -> None:
        with self._operation("rmdir", path, pid=pid) as fired:
            if "ignore" in fired:
                return
            before = self._before(path)
            os.rmdir(self._real(path))
            self._changed(fired, path, pid, before)

    def unlink(self, path: str, pid: int) -> None:
        with self._operation("unlink", path, pid=pid) as fired:
            if "ignore" in fired:
                return
            before = self._before(path)
            os.unlink(self._real(path))
            self._changed(fired, path, pid, before)
            self._gone(fired, before)

    def rename(self, old: str, new: str, flags: int, pid: int) -> None:
        """Rename; flags as renameat2(2)."""
        with self._operation("rename", old, new, pid=pid) as fired:
            if "ignore" in fired:
                return
            source, target = self._before(old), self._before(new)
            rename_with_flags(self._real(old), self._real(new), flags)
            self._changed(fired, old, pid, source)
            self._changed(fired, new, pid, target)
            self._gone(fired, target)
            if "old_size" in fired and source and target and source.st_size != target.st_size:
                self._staleness.replaced(new, source.st_ino, target.st_size)
            if "vanish" in fired:
                self._vanish(new, fired["vanish"]["seconds"])

    # Attributes

    def chmod(self, path: str, mode: int, pid: int) -> None:
        with self._operation("chmod", path, pid=pid) as fired:
            if "ignore" not in fired:
                os.chmod(self._real(path), mode)

    def chown(self, path: str, uid: int, gid: int, pid: int) -> None:
        with self._operation("chown", path, pid=pid) as fired:
            if "ignore" not in fired:
                os.chown(self._real(path), uid, gid, follow_symlinks=False)

    def utime(self, path: str, times: tuple[int, int] | None, pid: int) -> None:
        """Set access and modification time, ns since the epoch."""
        with self._operation("utime", path, pid=pid) as fired:
            if "ignore" in fired:
                return
            real = self._real(path)
            if times is None:
                os.utime(real, follow_symlinks=False)
                return
            known, now = os.lstat(real), time.time_ns()
            chosen = tuple(
                {UTIME_NOW: now, UTIME_OMIT: kept}.get(value, value)
                for value, kept in zip(times, (known.st_atime_ns, known.st_mtime_ns), strict=True)
            )
            os.utime(real, ns=(chosen[0], chosen[1]), follow_symlinks=False)

    def path_of(self, number: int) -> str:
        """The path by which an open file was opened."""
        return self._handles[number].path

    # What follows a change

    def _before(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(self._real(path))
        except FileNotFoundError:
            return None

    def _own(self, target: str | int, owner: tuple[int, int]) -> None:
        if self._is_root and owner != (0, 0):
            if isinstance(target, int):
                os.fchown(target, *owner)
            else:
                os.lchown(target, *owner)

    def _changed(self, fired: Fired, path: str, pid: int, before: os.stat_result | None) -> None:
        if "stale" in fired:
            self._staleness.changed(path, pid, before, fired["stale"]["seconds"])

    def _gone(self, fired: Fired, before: os.stat_result | None) -> None:
        if before is None or not stat.S_ISREG(before.st_mode):
            return
        if "stale_handles" in fired:
            self._handles.make_stale(before.st_ino)
        if before.st_nlink == 1:
            self._freed(fired, before.st_blocks * 512)

    def _freed(self, fired: Fired, size: int) -> None:
        if "late_space" in fired and size > 0:
            self._staleness.freed(size, fired["late_space"]["seconds"])

    def _vanish(self, path: str, seconds: float) -> None:
        real = self._real(path)

        def remove() -> None:
            with contextlib.suppress(OSError):
                os.unlink(real)

        if not seconds:
            remove()
            return
        timer = threading.Timer(seconds, remove)
        timer.daemon = True
        timer.start()


def _type(entry: os.DirEntry[str]) -> int:
    if entry.is_symlink():
        return stat.S_IFLNK
    if entry.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    return stat.S_IFREG if entry.is_file(follow_symlinks=False) else 0
