"""The directory that the check has on the volume. Names are resolved in its descriptor; links are never followed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from .. import l2root, names
from .job import Job

PIECE = 1 << 20
MOST_SIZE = 64 << 20
"""Of the file, however large objects are: bounds time and memory."""
LOOK_SECONDS = 2.0
"""For an object whose size is taken; a tree of empty directories holds none."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Written:
    """Seconds of each step, and what lies there now."""

    size: int
    digest: str
    write: float
    sync: float
    rename: float


@dataclass(frozen=True)
class Read:
    """``first``: seconds until the first byte; ``whole``: until the last."""

    size: int
    digest: str
    first: float
    whole: float


class Area:
    """This run's directory; raises OSError, and L2RootError where it cannot be opened."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._place = job.place
        self._fd = -1

    def open(self) -> None:
        """Open it, making what is missing; also again, after a mount was made anew."""
        self.close()
        self._fd = l2root.open_root(self._place, [])

    def close(self) -> None:
        """Let it go; what lies there stays."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def about(self) -> os.stat_result:
        """Attributes of the directory."""
        return os.fstat(self._fd)

    def space(self) -> os.statvfs_result:
        """What the volume says of its size."""
        return os.fstatvfs(self._fd)

    def known_size(self) -> int:
        """Bytes of an object that lies on the volume already, of this line of business; 0 if none was found."""
        at = PurePosixPath(self._job.directory) / "v1" / self._job.line_of_business
        with contextlib.suppress(OSError):
            for found in _objects(str(at), ("", "", "objects", "", ""), time.monotonic() + LOOK_SECONDS):
                return min(found, MOST_SIZE)
        return 0

    def write(self, name: str, size: int, temporary: str) -> Written:
        """A file of random bytes as the adapter stores one: written beside, fsync, rename."""
        seed, digest, began = os.urandom(PIECE), hashlib.sha256(), time.monotonic()
        fd = self._create(temporary)
        try:
            for number in range(0, size, PIECE):
                # No two pieces are the same: a volume that compresses or shares them would look faster than it is.
                piece = (number.to_bytes(8, "little") + seed[8:])[: size - number]
                digest.update(piece)
                _all(fd, piece)
            written = time.monotonic()
            _sync(fd)
            synced = time.monotonic()
        finally:
            os.close(fd)
        closed = time.monotonic()
        os.rename(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        ended = time.monotonic()
        return Written(size, digest.hexdigest(), written - began, synced - written, ended - closed)

    def publish(self, name: str, data: bytes) -> None:
        """A small file, whole or not at all."""
        temporary = f"{name}.new-{self._job.index}"
        fd = self._create(temporary)
        try:
            _all(fd, data)
            _sync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def touch(self, name: str) -> None:
        """An empty file, which takes no space; it may be there."""
        os.close(
            os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, l2root.FILE_MODE, dir_fd=self._fd)
        )

    def read(self, name: str) -> Read:
        """Read all of a file, piece by piece."""
        began, first, size, digest = time.monotonic(), 0.0, 0, hashlib.sha256()
        with self.opened(name) as fd:
            while piece := os.read(fd, PIECE):
                first = first or time.monotonic() - began
                size += len(piece)
                digest.update(piece)
        return Read(size, digest.hexdigest(), first, time.monotonic() - began)

    def text(self, name: str, most: int = 1 << 16) -> bytes:
        """At most ``most`` bytes of a small file."""
        with self.opened(name) as fd:
            parts = []
            while most > 0 and (part := os.read(fd, most)):
                parts.append(part)
                most -= len(part)
            return b"".join(parts)

    @contextlib.contextmanager
    def opened(self, name: str) -> Iterator[int]:
        """Descriptor for reading."""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            yield fd
        finally:
            os.close(fd)

    def look(self, name: str) -> os.stat_result:
        """Attributes of a name."""
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False)

    def there(self, name: str) -> bool:
        """Whether a name is there."""
        try:
            self.look(name)
        except FileNotFoundError:
            return False
        return True

    def names(self) -> list[str]:
        """What the listing shows."""
        return os.listdir(self._fd)  # noqa: PTH208 - pathlib knows no descriptors

    def set_times(self, name: str, ns: int | None) -> None:
        """Access and change time: given in ns, or the volume's own now."""
        if ns is None:
            os.utime(name, dir_fd=self._fd, follow_symlinks=False)
        else:
            os.utime(name, ns=(ns, ns), dir_fd=self._fd, follow_symlinks=False)

    def clean(self) -> int:
        """Remove what earlier runs of this release left; how many there were."""
        removed = 0
        with contextlib.suppress(OSError):
            above = os.open("..", _DIRECTORY, dir_fd=self._fd)
            try:
                for run in os.listdir(above):  # noqa: PTH208
                    if run != self._job.run and _remove(above, run):
                        removed += 1
            finally:
                os.close(above)
        return removed

    def remove(self) -> None:
        """Remove this run's directory, and those above it that the check made, where nobody else uses them."""
        with contextlib.suppress(OSError):
            release = os.open("..", _DIRECTORY, dir_fd=self._fd)
            check = os.open("../..", _DIRECTORY, dir_fd=self._fd)
            tenant = os.open("../../..", _DIRECTORY, dir_fd=self._fd)
            self.close()
            try:
                if _remove(release, self._job.run):
                    os.rmdir(self._job.release, dir_fd=check)
                    os.rmdir(names.L2_CHECK_DIRECTORY, dir_fd=tenant)
            finally:
                for fd in (release, check, tenant):
                    os.close(fd)

    def _create(self, name: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, l2root.FILE_MODE, dir_fd=self._fd)


def _remove(parent: int, name: str) -> bool:
    """Remove a directory of files; False where that did not work in whole."""
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=parent)
        try:
            for entry in os.listdir(fd):  # noqa: PTH208
                os.unlink(entry, dir_fd=fd)
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=parent)
    except OSError:
        return False
    return True


def _objects(path: str, below: tuple[str, ...], until: float) -> Iterator[int]:
    """Sizes of objects. ``below``: names of the directories from here down, empty where any will do."""
    with os.scandir(path) as entries:
        for entry in entries:
            if time.monotonic() > until:
                return
            if entry.is_symlink() or entry.name.startswith("."):
                continue
            if not below:
                if entry.name.endswith(".kv") and stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                    yield entry.stat(follow_symlinks=False).st_size
            elif entry.is_dir(follow_symlinks=False) and below[0] in ("", entry.name):
                yield from _objects(entry.path, below[1:], until)


def _all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as err:
        # As the adapter: a filesystem without it can still serve.
        if err.errno not in l2root.NO_SUCH_CALL:
            raise
