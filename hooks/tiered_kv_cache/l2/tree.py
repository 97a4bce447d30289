"""Calls into the filesystem below one fingerprint's directory. Each of them may raise OSError, and may block for ever.

Links are not followed at an object's name, and nothing but a regular file is read: other Pods write here too.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import re
import stat
from pathlib import Path

from . import errors, paths

logger = logging.getLogger(__name__)

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""O_NONBLOCK: opening a FIFO must not wait for its writer."""
WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _umask() -> int:
    """The process's umask; os.umask could only tell by changing it for all threads."""
    with contextlib.suppress(OSError):
        match = re.search(r"^Umask:\s*([0-7]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
        if match:
            return int(match[1], 8)
    return 0o777  # Not known: set the mode of every file.


class Tree:
    """One fingerprint's directory, as one writer sees it."""

    def __init__(self, base: str, writer: str, direct: bool = False) -> None:
        self.base, self.writer = base, writer
        self._objects = f"{base}/{paths.OBJECTS}/"
        self.direct = direct
        """O_DIRECT, until the filesystem says that it has none."""
        self._numbers = itertools.count()
        self._logs = itertools.count()
        self._set_file_mode = bool(_umask() & paths.FILE_MODE)
        self._group: int | None = None
        """Of the base, where it is not this process's own; -1 where it is; None before the first look."""

    def object(self, name: str) -> str:
        """Path of an object; the same as paths.object_path, on the path of every lookup."""
        return f"{self._objects}{name[:2]}/{name[2:4]}/{name}{paths.OBJECT_SUFFIX}"

    def length(self, name: str) -> int:
        """Bytes of an object's file; 0 if there is none, or something else has its name."""
        try:
            found = os.lstat(f"{self._objects}{name[:2]}/{name[2:4]}/{name}{paths.OBJECT_SUFFIX}")
        except (FileNotFoundError, NotADirectoryError):
            return 0
        return found.st_size if stat.S_ISREG(found.st_mode) else 0

    def open(self, name: str) -> int:
        """A descriptor for reading. A socket at the object's place is told as a link is (errors.LINK), not as a lost mount."""
        path = self.object(name)
        try:
            return self._open(path, READ_FLAGS)
        except OSError as err:
            if err.errno == errno.ENXIO and not stat.S_ISREG(os.lstat(path).st_mode):
                raise OSError(errors.LINK, "no regular file") from None
            raise

    def create(self) -> tuple[str, int]:
        """A new temporary file of this writer: its path and a descriptor for writing."""
        path = f"{self.base}/{paths.tmp_path(self.writer, next(self._numbers))}"
        try:
            return path, self._open(path, WRITE_FLAGS)
        except FileNotFoundError:
            self.make(paths.tmp_directory(self.writer))
            return path, self._open(path, WRITE_FLAGS)

    def _open(self, path: str, flags: int) -> int:
        if self.direct:
            try:
                return os.open(path, flags | os.O_DIRECT, paths.FILE_MODE)
            except OSError as err:
                if err.errno != errno.EINVAL:
                    raise
                logger.warning("%s has no O_DIRECT: read and written through the page cache", self.base)
                self.direct = False
                # Linux may have made the file before it said so.
                with contextlib.suppress(FileNotFoundError):
                    if flags & os.O_CREAT:
                        os.unlink(path)
        return os.open(path, flags, paths.FILE_MODE)

    def share(self, fd: int) -> None:
        """Let the group of the base read the file: Pods of its line of business, and the keeper."""
        if not self._give(fd):
            os.fchmod(fd, paths.OPEN_FILE_MODE)
        elif self._set_file_mode:
            os.fchmod(fd, paths.FILE_MODE)

    def _give(self, target: int | str) -> bool:
        """Give a file or directory to the base's group; False if that may not be done, so that its mode must let everybody in.

        A worker that is root, say, on a volume that hands no group down: what lies above keeps the others out.
        """
        if self._group is None:
            group = os.stat(self.base).st_gid
            self._group = -1 if group == os.getegid() else group
        if self._group == -1:
            return True
        try:
            os.chown(target, -1, self._group)
        except OSError:
            return False
        return True

    def publish(self, tmp: str, name: str) -> None:
        """Give a temporary file its object's name. The keeper may just have removed an empty directory: made again, once."""
        target = self.object(name)
        try:
            os.rename(tmp, target)
        except FileNotFoundError:
            self.make(paths.object_directory(name))
            os.rename(tmp, target)
        except IsADirectoryError:
            self.set_aside(name, None)
            os.rename(tmp, target)

    def set_aside(self, name: str, inode: int | None) -> bool:
        """Move an object out of the way and remove it; False if it was gone, or replaced since ``inode`` was read."""
        path = self.object(name)
        bad = f"{self.base}/{paths.bad_path(self.writer, next(self._numbers))}"
        try:
            if inode is not None and os.lstat(path).st_ino != inode:
                return False
            try:
                os.rename(path, bad)
            except FileNotFoundError:
                self.make(paths.tmp_directory(self.writer))
                os.rename(path, bad)
        except FileNotFoundError:
            return False
        self.remove(bad)
        return True

    def remove(self, path: str) -> None:
        """Unlink a file of ours, or an empty directory in an object's place; what fails is left to the keeper."""
        with contextlib.suppress(OSError):
            try:
                os.unlink(path)
            except IsADirectoryError:
                os.rmdir(path)

    def delete(self, name: str) -> int:
        """Unlink an object; its bytes, 0 if there was none."""
        length = self.length(name)
        try:
            os.unlink(self.object(name))
        except FileNotFoundError:
            return 0
        return length

    def write_log(self, data: bytes) -> None:
        """Write a use log, all or nothing."""
        path = f"{self.base}/{paths.tmp_path(self.writer, next(self._numbers))}"
        try:
            fd = os.open(path, WRITE_FLAGS, paths.FILE_MODE)
        except FileNotFoundError:
            self.make(paths.tmp_directory(self.writer))
            fd = os.open(path, WRITE_FLAGS, paths.FILE_MODE)
        try:
            try:
                write_all(fd, data)
                self.share(fd)
            finally:
                os.close(fd)
            target = f"{self.base}/{paths.use_path(self.writer, next(self._logs))}"
            try:
                os.rename(path, target)
            except FileNotFoundError:
                self.make(paths.use_directory(self.writer))
                os.rename(path, target)
        except BaseException:
            self.remove(path)
            raise

    def make(self, directory: str) -> None:
        """Make a directory below the base, and those above it."""
        at = self.base
        os.makedirs(at, exist_ok=True)
        for part in directory.split("/"):
            at = f"{at}/{part}"
            try:
                os.mkdir(at, paths.DIRECTORY_MODE)
            except FileExistsError:
                continue
            # A faster Pod with another uid may have made it instead; then the mode is its business.
            with contextlib.suppress(PermissionError):
                os.chmod(at, paths.DIRECTORY_MODE if self._give(at) else paths.OPEN_DIRECTORY_MODE)


def write_all(fd: int, data: bytes) -> None:
    """os.write until all is written."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
