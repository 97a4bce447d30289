"""System calls that Python lacks."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
MNT_DETACH, UMOUNT_NOFOLLOW = 2, 8
PR_SET_PDEATHSIG = 1
AT_FDCWD = -100


def _check(result: int, path: str | Path = "") -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(path))


def rename_with_flags(old: str, new: str, flags: int) -> None:
    """renameat2(2). The plain call where there are no flags, since not every filesystem has the other."""
    if not flags:
        os.rename(old, new)  # noqa: PTH104 - as its sibling below
        return
    _check(_libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), ctypes.c_uint(flags)), old)


def detach(mount: Path) -> None:
    """`umount -l`: the mount is gone for all who come after; who has a file open keeps it. Never asks the filesystem."""
    _check(_libc.umount2(os.fsencode(mount), MNT_DETACH | UMOUNT_NOFOLLOW), mount)


def end_with_parent() -> None:
    """SIGTERM for this process when the thread that started it ends."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0))
