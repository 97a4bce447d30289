"""pool-disk: looks at a node's disk before a Curvine worker takes it, and makes the worker's directory there.

A worker that finds no disk at its path would fill the node's own; one whose disk is too small fills it to the last byte, and each
store into the pool then fails; one that finds another pool's data mixes it with its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..findings import Finding, UsageError
from ..keeper.units import human
from . import mounts

DIRECTORY = "kv"
DIRECTORY_MODE = 0o700
VERSION = "version"
"""Curvine's mark of a directory of blocks: <data directory>/<cluster id>/version."""
CHECK_FILE = ".tiered-kv-cache-check"
CHECK_BYTES = 4096
COUNT_SECONDS = 120.0


@dataclass(frozen=True)
class Job:
    """``path``: the node's directory ``host_path`` as mounted here; sizes in bytes; ``prefix`` of the keys in messages."""

    path: Path
    host_path: str
    size: int
    reserve: int
    cluster_id: str
    user: int
    group: int
    allow_root_disk: bool = False
    prefix: str = "curvine.workers.disk"
    mountinfo: Path = mounts.MOUNTINFO

    @property
    def on_node(self) -> PurePosixPath:
        """The worker's directory as the node sees it."""
        return PurePosixPath(self.host_path) / DIRECTORY


def validate(todo: Job) -> None:
    """Check the arguments; raises UsageError with every fault."""
    faults = []
    for name, value in (("--path", str(todo.path)), ("--host-path", todo.host_path)):
        if not value.startswith("/") or ".." in PurePosixPath(value).parts:
            faults.append(f"{name} {value!r} is no absolute, plain path. Fix: give one, such as /mnt/nvme0")
    if todo.size <= 0:
        faults.append(f"--size {todo.size} is no number of bytes above 0. Fix: set {todo.prefix}.size")
    if todo.reserve < 0:
        faults.append(f"--reserve {todo.reserve} is below 0. Fix: set {todo.prefix}.reserve to 0 or more")
    if not todo.cluster_id or "/" in todo.cluster_id:
        faults.append(f"--cluster-id {todo.cluster_id!r} is no name of a directory. Fix: give the pool's cluster id")
    if min(todo.user, todo.group) < 0:
        faults.append(f"--user {todo.user} --group {todo.group}: below 0. Fix: give the worker's user and group")
    if faults:
        raise UsageError("\n".join(faults))


def check(todo: Job, count_seconds: float = COUNT_SECONDS) -> tuple[list[Finding], list[str]]:
    """Everything that speaks against this disk, and lines about what was seen. Changes nothing but a file for a try."""
    findings = _root_disk(todo)
    lines: list[str] = []
    for look in (_space, _writable, _other_pools):
        try:
            findings += look(todo, count_seconds, lines)
        except OSError as err:
            findings.append(_fault(todo, f"{err.filename or todo.path} cannot be used", err))
    return findings, lines


def make(todo: Job) -> str:
    """Make the worker's directory, with its owner and mode; says what was done. Raises OSError."""
    top = os.open(todo.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(DIRECTORY, DIRECTORY_MODE, dir_fd=top)
        # The worker's user may have put a link there, and this process is root.
        inside = os.open(DIRECTORY, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    finally:
        os.close(top)
    try:
        about, changed = os.fstat(inside), 0
        if (about.st_uid, about.st_gid) != (todo.user, todo.group):
            changed = _give(inside, todo.user, todo.group)
        if stat.S_IMODE(about.st_mode) != DIRECTORY_MODE:
            os.fchmod(inside, DIRECTORY_MODE)
    finally:
        os.close(inside)
    return f"{todo.on_node} belongs to {todo.user}:{todo.group}" + (
        f", given to it with {changed} entries" * bool(changed)
    )


def _give(inside: int, user: int, group: int) -> int:
    """Change the owner of all below; of the directory itself last, so that what was broken off is done again."""
    changed = 0
    for _, directories, files, where in os.fwalk(".", topdown=False, onerror=_raise, dir_fd=inside):
        for name in (*directories, *files):
            os.chown(name, user, group, dir_fd=where, follow_symlinks=False)
            changed += 1
    os.fchown(inside, user, group)
    return changed + 1


def _raise(err: OSError) -> None:
    raise err


def _root_disk(todo: Job) -> list[Finding]:
    mount = mounts.at(os.path.realpath(todo.path), todo.mountinfo)
    if mount is None:
        return [Finding(
            f"--path {todo.path}: nothing is mounted there",
            f"mount the node's directory {todo.host_path} there (hostPath)",
        )]  # fmt: skip
    # On a disk of its own a part of the path is the mount's; on the node's root filesystem the whole path is in it,
    # behind the name of a subvolume or deployment where there is one.
    whole = str(PurePosixPath(todo.host_path)).rstrip("/")
    if todo.allow_root_disk or not mount.root.rstrip("/").endswith(whole):
        return []
    return [Finding(
        f"{todo.prefix}.path: {todo.host_path} lies on the node's root disk: no disk is mounted at it or above it, "
        "and the pool would fill the disk that the node itself needs",
        f"mount the node's disk there, set {todo.prefix}.path to a directory on a disk of its own, "
        f"or, where the root disk is meant, set {todo.prefix}.allowRootDisk: true",
    )]  # fmt: skip


def _space(todo: Job, count_seconds: float, lines: list[str]) -> list[Finding]:
    about = os.statvfs(todo.path)
    total, free = about.f_blocks * about.f_frsize, about.f_bavail * about.f_frsize
    findings = []
    if total < todo.size + todo.reserve:
        findings.append(Finding(
            f"{todo.prefix}.size: {human(todo.size)} and {todo.prefix}.reserve: {human(todo.reserve)} do not fit the "
            f"filesystem of {todo.host_path}, which has {human(total)}: {todo.size + todo.reserve - total} bytes are missing",
            f"set {todo.prefix}.size to at most {max(0, total - todo.reserve)}, or take a larger disk",
        ))  # fmt: skip
    held, complete = _held(todo.path / DIRECTORY, todo.size - free, count_seconds)
    lines.append(
        f"{todo.host_path}: {human(total)}, {human(free)} free"
        + (f", {human(held)} of the pool's counted" * bool(held))
    )
    missing = todo.size - free - held
    if missing > 0 and not complete:
        # A worker whose disk is full of the pool's own blocks must be able to start again.
        lines.append(
            f"{todo.on_node} has too many files to count within {count_seconds:g} s; whether {todo.prefix}.size fits is not known"
        )
    elif missing > 0 and total >= todo.size:
        findings.append(Finding(
            f"{todo.prefix}.size: {human(todo.size)}, but {todo.host_path} has {human(free)} free and the pool holds "
            f"{human(held)} there: {missing} bytes are missing, taken by other files or kept for root",
            f"remove what else lies on this disk, or set {todo.prefix}.size to at most {max(0, free + held)}",
        ))  # fmt: skip
    return findings


def _held(path: Path, needed: int, seconds: float) -> tuple[int, bool]:
    """Bytes of the blocks below ``path``, counted only until ``needed`` is reached; False if the time was not enough."""
    held, end = 0, time.monotonic() + seconds
    if needed <= 0:
        return 0, True
    for blocks in _blocks(path):
        held += blocks * 512
        if held >= needed:
            break
        if time.monotonic() > end:
            return held, False
    return held, True


def _blocks(path: Path) -> Iterator[int]:
    waiting = [os.fspath(path)]
    while waiting:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                yield about.st_blocks
                if stat.S_ISDIR(about.st_mode):
                    waiting.append(entry.path)


def _writable(todo: Job, count_seconds: float, lines: list[str]) -> list[Finding]:
    name = todo.path / CHECK_FILE
    try:
        with contextlib.suppress(FileNotFoundError):
            name.unlink()
        try:
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                os.write(fd, bytes(CHECK_BYTES))
                os.fsync(fd)
            finally:
                os.close(fd)
        finally:
            with contextlib.suppress(FileNotFoundError):
                name.unlink()
    except OSError as err:
        return [_fault(todo, f"{todo.host_path}: {CHECK_BYTES} bytes cannot be written", err)]
    return []


def _other_pools(todo: Job, count_seconds: float, lines: list[str]) -> list[Finding]:
    inside = todo.path / DIRECTORY
    try:
        about = inside.lstat()
    except FileNotFoundError:
        return []
    if not stat.S_ISDIR(about.st_mode):
        return [Finding(f"{todo.on_node} is no directory", "look what it is, and move it away")]
    others = [entry.name for entry in inside.iterdir() if entry.name != todo.cluster_id and _is_pool(entry)]
    if not others:
        return []
    others.sort()
    return [Finding(
        f"{todo.on_node} holds blocks of other pools: cluster id {', '.join(others)}; this release's is {todo.cluster_id}",
        f"set {todo.prefix}.path to another directory, or the cluster id back; "
        "or, if nobody needs those pools any more, remove their blocks on the node",
        tuple(f"rm -r -- {todo.on_node / other}" for other in others),
    )]  # fmt: skip


def _is_pool(entry: Path) -> bool:
    try:
        return stat.S_ISDIR(entry.lstat().st_mode) and stat.S_ISREG((entry / VERSION).lstat().st_mode)
    except FileNotFoundError:
        return False


def _fault(todo: Job, what: str, err: OSError) -> Finding:
    fixes = {
        errno.EROFS: "mount the disk read-write; a kernel that met errors on a disk makes it read-only (dmesg on the node)",
        errno.EACCES: "run this container as root with CHOWN, DAC_OVERRIDE and FOWNER",
        errno.EPERM: "run this container as root with CHOWN, DAC_OVERRIDE and FOWNER",
        errno.ENOSPC: "free space on the disk: not even the pool's blocks can be managed without some",
    }
    return Finding(
        f"{what}: {err.strerror or err}", fixes.get(err.errno or 0, "mend or replace the disk (dmesg on the node)")
    )


def failed(todo: Job, err: OSError) -> Finding:
    """An error of ``make`` as a finding."""
    return _fault(todo, f"{todo.on_node} cannot be made ready", err)
