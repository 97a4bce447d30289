"""File operations on the volume: each below an open directory, paced, watched, and never through a symbolic link.

The keeper has more rights than those who write to the volume. A directory that was swapped for a link between look and
delete must not lead it elsewhere: names are only ever resolved in a directory that is already open.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .pace import Pace
from .watch import Watch

GONE = (errno.ENOENT, errno.ESTALE)
NOT_A_DIRECTORY = (errno.ENOTDIR, errno.ELOOP)
FULL = (errno.EEXIST, errno.ENOTEMPTY, errno.EBUSY)
UNREADABLE = (errno.EIO, errno.ENXIO, errno.EREMOTEIO)
LOCAL = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, *UNREADABLE)
"""Faults of one directory, which must not end a walk: a tenant can make them."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Of a write to a full volume; Curvine says EIO. A keeper that could not go on then would be of no use."""
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Neither a FIFO nor a device may block or act.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class ReadOnly(Exception):
    """Something wanted to delete in a dry run: a fault of this program."""


class Tree:
    """The volume. ``dry``: nothing is changed. ``allowed`` is called before each change, and raises when it is not."""

    def __init__(
        self, mount: str, pace: Pace, watch: Watch, dry: bool = False, allowed: Callable[[], None] = lambda: None
    ) -> None:
        self.mount, self.pace, self.watch, self.dry = mount, pace, watch, dry
        self.allowed = allowed

    @contextmanager
    def top(self) -> Iterator[int]:
        """Descriptor of the mount point, which alone may be a link. Raises OSError."""
        with self.watch.doing(f"opening {self.mount}"):
            fd = os.open(self.mount, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def directory(self, parent: int, *path: str, make: bool = False) -> Iterator[int | None]:
        """Descriptor of a directory some names below; None if there is none, or one of them is something else.

        ``make``: the last one, private to the keeper, unless it is there.
        """
        if make:
            with self.directory(parent, *path[:-1]) as above:
                if above is not None:
                    self._make(above, path[-1])
        fd = self.open(parent, *path)
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)

    def open(self, parent: int, *path: str) -> int | None:
        """The same, to be closed by the caller."""
        at, opened = parent, False
        for name in path:
            try:
                with self.watch.doing(f"opening {name}"):
                    found = os.open(name, DIRECTORY, dir_fd=at)
            except OSError as err:
                if err.errno in GONE or err.errno in NOT_A_DIRECTORY:
                    return None
                raise
            finally:
                if opened:
                    os.close(at)
                self.pace.spend()
            at, opened = found, True
        return at if opened else os.dup(parent)

    def names(self, fd: int) -> list[tuple[str, bool]]:
        """What is in a directory: name, and whether it is a directory itself."""
        with self.watch.doing("listing"), os.scandir(fd) as found:
            listed = [(e.name, e.is_dir(follow_symlinks=False)) for e in found]
        self.pace.spend(1 + len(listed) // 512)
        return listed

    def files(self, fd: int) -> list[tuple[str, os.stat_result | None]]:
        """Name and attributes of what is in a directory; None where they cannot be read (EIO); vanished ones are left out."""
        with self.watch.doing("listing"):
            try:
                with os.scandir(fd) as found:
                    listed: list[tuple[str, os.stat_result | None]] = [
                        (e.name, e.stat(follow_symlinks=False)) for e in found
                    ]
            except OSError:
                # Something vanished or cannot be read: once more, one by one.
                listed = self._one_by_one(fd)
        self.pace.spend(1 + len(listed))
        return listed

    def _one_by_one(self, fd: int) -> list[tuple[str, os.stat_result | None]]:
        listed: list[tuple[str, os.stat_result | None]] = []
        with os.scandir(fd) as found:
            for entry in found:
                try:
                    listed.append((entry.name, entry.stat(follow_symlinks=False)))
                except OSError as err:
                    if err.errno in UNREADABLE:
                        listed.append((entry.name, None))
                    elif err.errno not in GONE:
                        raise
        return listed

    def look(self, parent: int, name: str) -> os.stat_result | None:
        """Attributes of a name, links not followed; None if it is gone."""
        try:
            with self.watch.doing(f"looking at {name}"):
                return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError as err:
            if err.errno in GONE or err.errno in NOT_A_DIRECTORY:
                return None
            raise
        finally:
            self.pace.spend()

    def read(self, parent: int, name: str, most: int) -> tuple[bytes, os.stat_result] | None:
        """At most ``most`` bytes of a regular file; None if there is none of this name."""
        try:
            with self.watch.doing(f"reading {name}"):
                fd = os.open(name, FILE, dir_fd=parent)
                try:
                    about = os.fstat(fd)
                    if not stat.S_ISREG(about.st_mode):
                        return None
                    parts = []
                    while most > 0 and (part := os.read(fd, min(most, 1 << 20))):
                        parts.append(part)
                        most -= len(part)
                    return b"".join(parts), about
                finally:
                    os.close(fd)
        except OSError as err:
            # ENXIO: a socket, or a FIFO that nobody reads.
            if err.errno in GONE or err.errno in NOT_A_DIRECTORY or err.errno == errno.ENXIO:
                return None
            raise
        finally:
            self.pace.spend(2)

    def unlink(self, parent: int, name: str) -> bool:
        """Remove a file; False if it was gone. Raises OSError."""
        self._change()
        try:
            with self.watch.doing(f"removing {name}"):
                os.unlink(name, dir_fd=parent)
            return True
        except OSError as err:
            if err.errno in GONE:
                return False
            raise
        finally:
            self.pace.spend()

    def rmdir(self, parent: int, name: str) -> bool:
        """Remove a directory if it is empty; False if it is not, or gone, or may not be removed."""
        self._change()
        try:
            with self.watch.doing(f"removing {name}"):
                os.rmdir(name, dir_fd=parent)
            return True
        except OSError as err:
            if err.errno in (*GONE, *FULL, *NOT_A_DIRECTORY, errno.EPERM, errno.EACCES):
                return False
            raise
        finally:
            self.pace.spend()

    def write(self, parent: int, name: str, parts: list[bytes]) -> os.stat_result:
        """Replace a file as a whole; returns the new one's attributes. Raises OSError."""
        self._change()
        new = f"{name}.{secrets.token_hex(4)}.new"
        try:
            with self.watch.doing(f"writing {name}"):
                fd = os.open(
                    new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent
                )
                with os.fdopen(fd, "wb") as file:
                    for part in parts:
                        file.write(part)
                    file.flush()
                    os.fsync(file.fileno())
                    about = os.fstat(file.fileno())
                os.rename(new, name, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(new, dir_fd=parent)
            raise
        finally:
            self.pace.spend(4)
        return about

    def touch(self, parent: int, name: str) -> os.stat_result | None:
        """Set a file's times to now, which takes no space; its attributes, None if it is not there. Raises OSError."""
        self._change()
        try:
            with self.watch.doing(f"touching {name}"):
                os.utime(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return self.look(parent, name)

    def _make(self, parent: int, name: str) -> None:
        self._change()
        with contextlib.suppress(FileExistsError), self.watch.doing(f"making {name}"):
            os.mkdir(name, 0o700, dir_fd=parent)

    def _change(self) -> None:
        if self.dry:
            raise ReadOnly
        self.allowed()
