"""Between libfuse (by mfusepy) and our operations. Importing this loads libfuse3."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

# mfusepy takes libfuse 2 where both are installed.
os.environ.setdefault("FUSE_LIBRARY_NAME", "fuse3")

import mfusepy

from . import mounts
from .filesystem import Filesystem

THREADS = 1000
"""A hung operation holds a thread of libfuse and a place in the kernel's queue of background requests."""


def _caller() -> tuple[int, int, int]:
    uid, gid, pid = mfusepy.fuse_get_context()
    return int(uid), int(gid), int(pid)


def _pid() -> int:
    return _caller()[2]


def _name(path: str) -> str:
    return path[1:]


class Operations(mfusepy.Operations):  # type: ignore[misc]
    """mfusepy's names for the operations; what they do is in `Filesystem`."""

    use_ns = True
    # Open files are named by their handle alone, so that a file that was replaced or removed can still be read.
    flag_nopath = True
    flag_nullpath_ok = True

    def __init__(self, filesystem: Filesystem, ready: Callable[[], None]) -> None:
        self.filesystem, self._ready = filesystem, ready

    def init_with_config(self, conn_info: Any, config_3: Any) -> None:
        conn_info.max_background = THREADS
        conn_info.congestion_threshold = THREADS
        conn_info.max_readahead = mounts.READ_AHEAD_KIB * 1024
        self._ready()

    def getattr(self, path: str | None, fh: int | None = None) -> dict[str, Any]:
        if fh is not None:
            return self.filesystem.stat_open(fh, _pid())
        assert path is not None
        return self.filesystem.stat(_name(path), _pid())

    def readdir(self, path: str | None, fh: int) -> Any:
        return self.filesystem.readdir(fh, _pid())

    def opendir(self, path: str) -> int:
        return self.filesystem.opendir(_name(path))

    def releasedir(self, path: str | None, fh: int) -> int:
        self.filesystem.releasedir(fh)
        return 0

    def readlink(self, path: str) -> str:
        return self.filesystem.readlink(_name(path), _pid())

    def statfs(self, path: str) -> dict[str, int]:
        return self.filesystem.statfs(_name(path), _pid())

    def open(self, path: str, flags: int) -> int:
        return self.filesystem.open(_name(path), flags, _pid())

    def create(self, path: str, mode: int, flags: int) -> int:
        uid, gid, pid = _caller()
        return self.filesystem.create(_name(path), flags, mode, (uid, gid), pid)

    def read(self, path: str | None, size: int, offset: int, fh: int) -> bytes:
        raise NotImplementedError("Mount.read fills libfuse's buffer without a copy")

    def write(self, path: str | None, data: bytes, offset: int, fh: int) -> int:
        raise NotImplementedError("Mount.write reads libfuse's buffer without a copy")

    def flush(self, path: str | None, fh: int) -> int:
        self.filesystem.flush(fh, _pid())
        return 0

    def fsync(self, path: str | None, datasync: int, fh: int) -> int:
        self.filesystem.fsync(fh, _pid(), data_only=bool(datasync))
        return 0

    def release(self, path: str | None, fh: int) -> int:
        self.filesystem.release(fh, _pid())
        return 0

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        raise NotImplementedError("Mount.truncate_fuse_3 hands the open file on")

    def fallocate(self, path: str | None, mode: int, offset: int, size: int, fh: int) -> int:
        self.filesystem.fallocate(fh, mode, offset, size, _pid())
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        uid, gid, pid = _caller()
        self.filesystem.mkdir(_name(path), mode, (uid, gid), pid)
        return 0

    def symlink(self, target: str, source: str) -> int:
        uid, gid, pid = _caller()
        self.filesystem.symlink(_name(target), source, (uid, gid), pid)
        return 0

    def link(self, target: str, source: str) -> int:
        self.filesystem.link(_name(source), _name(target), _pid())
        return 0

    def rmdir(self, path: str) -> int:
        self.filesystem.rmdir(_name(path), _pid())
        return 0

    def unlink(self, path: str) -> int:
        self.filesystem.unlink(_name(path), _pid())
        return 0

    def rename(self, old: str, new: str) -> int:
        raise NotImplementedError("Mount.rename_fuse_3 hands the flags on")

    def chmod(self, path: str, mode: int) -> int:
        raise NotImplementedError("Mount.chmod_fuse_3 hands the open file on")

    def chown(self, path: str, uid: int, gid: int) -> int:
        self.filesystem.chown(_name(path), uid, gid, _pid())
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        self.filesystem.utime(_name(path), times, _pid())
        return 0


class Mount(mfusepy.FUSE):  # type: ignore[misc]
    """mfusepy's wrappers, but those that would copy data or lose an argument."""

    def read(self, path: bytes | None, buf: Any, size: int, offset: int, fip: Any) -> int:
        return int(self.operations.filesystem.read_into(_memory(buf, size), offset, fip.contents.fh, _pid()))

    def write(self, path: bytes | None, buf: Any, size: int, offset: int, fip: Any) -> int:
        return int(self.operations.filesystem.write_from(_memory(buf, size), offset, fip.contents.fh, _pid()))

    def truncate_fuse_3(self, path: bytes | None, length: int, fip: Any) -> int:
        number = fip.contents.fh if fip else None
        self.operations.filesystem.truncate(self._path(path, fip), length, number, _pid())
        return 0

    def chmod_fuse_3(self, path: bytes | None, mode: int, fip: Any) -> int:
        self.operations.filesystem.chmod(self._path(path, fip), mode, _pid())
        return 0

    def chown_fuse_3(self, path: bytes | None, uid: int, gid: int, fip: Any) -> int:
        return int(self._chown(b"/" + os.fsencode(self._path(path, fip)), uid, gid))

    def utimens_fuse_3(self, path: bytes | None, buf: Any, fip: Any) -> int:
        return int(self.utimens_fuse_2(b"/" + os.fsencode(self._path(path, fip)), buf))

    def _path(self, path: bytes | None, fip: Any) -> str:
        """The path; of an open file the one by which it was opened, since libfuse gives none."""
        if path is None:
            return str(self.operations.filesystem.path_of(fip.contents.fh))
        return _name(path.decode(self.encoding, self.errors))

    def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
        paths = [_name(path.decode(self.encoding, self.errors)) for path in (old, new)]
        self.operations.filesystem.rename(*paths, flags, _pid())
        return 0


def _memory(address: Any, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(ctypes.cast(address, ctypes.c_void_p).value or 0)).cast("B")


def serve(
    filesystem: Filesystem,
    point: Path,
    ready: Callable[[], None],
    *,
    allow_other: bool,
    default_permissions: bool,
    direct_io: bool,
    entry_timeout: float,
    attr_timeout: float,
    negative_timeout: float,
) -> None:
    """Mount and serve until the mount is gone.

    Args:
        ready: called once the kernel has agreed.
        direct_io: no page cache: every read reaches us, and mmap for writing fails.
        entry_timeout: seconds for which the kernel believes a name.
        attr_timeout: seconds for which it believes attributes.
        negative_timeout: seconds for which it believes that a name does not exist.

    Raises:
        RuntimeError: libfuse could not mount; it has said why on stderr.
    """
    Mount(
        Operations(filesystem, ready),
        str(point),
        foreground=True,
        nothreads=False,
        fsname=f"faultfs:{os.getpid()}",
        subtype=mounts.SUBTYPE,
        max_threads=THREADS,
        allow_other=allow_other,
        default_permissions=default_permissions,
        hard_remove=True,
        use_ino=True,
        direct_io=direct_io,
        entry_timeout=entry_timeout,
        attr_timeout=attr_timeout,
        negative_timeout=negative_timeout,
    )
