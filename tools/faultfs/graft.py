"""Show a mount of this machine inside a container that runs already: `python -m faultfs.graft PID MOUNT TARGET`.

A bind mount that a container was started with may not let later mounts through. So the mount is copied (open_tree), this
process joins the container's mount namespace (setns), and the copy is put there (move_mount); Linux 5.2 and later, as root.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

OPEN_TREE, MOVE_MOUNT = 428, 429
"""Numbers of the system calls: the same on every architecture."""
AT_FDCWD, CLONE, CLOEXEC = -100, 1, os.O_CLOEXEC
FROM_EMPTY_PATH = 4
CLONE_NEWNS = 0x20000
MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def into(pid: int, mount: Path, target: str) -> None:
    """Show `mount` as `target` (made where it lacks) in the mount namespace of process `pid`.

    In a process of its own: who joins another mount namespace must have one thread, and does not come back.

    Raises:
        RuntimeError: the kernel refused; the text says what.
    """
    command = [sys.executable, "-m", "faultfs.graft", str(pid), str(mount), target]
    tools = str(Path(__file__).parent.parent)
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": tools}, capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{mount} cannot be shown as {target} of process {pid}: {done.stderr.strip()}")


def _called(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def main(pid: str, mount: str, target: str) -> None:
    tree = _called("open_tree", _libc.syscall(OPEN_TREE, AT_FDCWD, mount.encode(), CLONE | CLOEXEC))
    theirs = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    _called("setns", _libc.setns(theirs, CLONE_NEWNS))
    # What an earlier run left there when it was killed: dead by now, so that nothing could even look at the directory.
    while _libc.umount2(target.encode(), MNT_DETACH) == 0:
        pass
    Path(target).mkdir(parents=True, exist_ok=True)
    _called("move_mount", _libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, target.encode(), FROM_EMPTY_PATH))


if __name__ == "__main__":
    main(*sys.argv[1:])
