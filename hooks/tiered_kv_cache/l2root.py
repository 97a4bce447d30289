"""l2-root: prepares a model's directory on the L2 volume before LMCache starts, or says why it cannot be used.

Every step goes through directory file descriptors and never follows a symbolic link, since other Pods can write to the
volume.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar

from . import names

T = TypeVar("T")

LEVELS_BELOW_MOUNT = 4
"""<mount path>/<format version>/<line of business>/<model>/<fingerprint>"""
DIRECTORY_MODE = 0o2770
"""Group too, and handed down: the keeper and other Pods of the line of business share the group."""
SHARED_MODE = 0o1777
"""Of the version's directory: each line of business makes its own there, whatever its uid, and none may take away another's.
The kubelet, which an NFS server may take for nobody, passes through it as well."""
FILE_MODE = 0o640
DEADLINE_SECONDS = 60.0
POD_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
# A volume whose server or FUSE process is gone.
GONE = (errno.ENOTCONN, errno.ESTALE, errno.EIO, errno.ENODEV, errno.ENXIO, errno.ETIMEDOUT, errno.EHOSTDOWN)
NO_SUCH_CALL = (errno.ENOSYS, errno.EOPNOTSUPP)
NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK)


class L2RootError(Exception):
    """The root cannot be used; the message says what and how to mend it."""


class VolumeGone(L2RootError):
    """The volume does not answer, or its server or FUSE process is gone: nothing is known of what lies there."""


@dataclass(frozen=True)
class Job:
    """``root``: the directory; ``config``: what its fingerprint hashed; ``mount``: the volume's path."""

    root: PurePosixPath
    pod: str
    config: dict[str, Any]
    mount: PurePosixPath


def job(root: str, pod: str, config: str | None) -> Job:
    """Check the arguments; raises L2RootError with every fault."""
    faults = []
    path = PurePosixPath(root)
    parts = root.rstrip("/").split("/")
    if not root.startswith("/") or any(p in ("", ".", "..") for p in parts[1:]) or len(parts) < LEVELS_BELOW_MOUNT + 2:
        faults.append(
            f"--root {root!r} is no absolute, plain path "
            "<mount path>/<version>/<line of business>/<model>/<fingerprint>. "
            "Fix: give the path that the chart renders, without '.', '..' and empty parts"
        )
    if ".." in pod or not POD_NAME.fullmatch(pod):
        faults.append(f"--pod {pod!r} is no Pod name. Fix: give metadata.name of the Pod (downward API)")
    parsed: Any = None
    if config is None:
        faults.append(
            f"the environment has no {names.ENV_L2_CONFIG}. Fix: set it to the JSON object that the fingerprint hashed"
        )
    else:
        try:
            parsed = json.loads(config)
        except ValueError as err:
            faults.append(
                f"{names.ENV_L2_CONFIG} is not JSON: {err}. Fix: set it to the object that the fingerprint hashed"
            )
        else:
            if not isinstance(parsed, dict):
                faults.append(
                    f"{names.ENV_L2_CONFIG} is no JSON object. Fix: set it to the object that the fingerprint hashed"
                )
    if faults:
        raise L2RootError("\n".join(faults))
    return Job(path, pod, parsed, path.parents[LEVELS_BELOW_MOUNT - 1])


def prepare(todo: Job) -> list[str]:
    """Make and check the root; returns what was done. Raises L2RootError. Safe to run again, and twice at once."""
    done: list[str] = []
    root = open_root(todo, done)
    try:
        with _Explained(todo, f"cannot use {todo.root}"):
            _own_tmp(root, todo, done)
            _check_writable(root, todo)
            _config(root, todo, done)
    finally:
        os.close(root)
    done.append(f"{todo.root} is ready for Pod {todo.pod}")
    return done


def prepare_within(
    todo: Job, seconds: float = DEADLINE_SECONDS, work: Callable[[Job], list[str]] = prepare
) -> list[str]:
    """``prepare`` with a deadline."""
    return within(
        seconds,
        lambda: work(todo),
        f"the volume at {todo.mount} does not answer",
        "mend its server or CSI driver on this node; the Pod tries again by itself",
    )


def within(seconds: float, work: Callable[[], T], doing: str, fix: str) -> T:
    """``work`` with a deadline: a call into a network volume that is gone can block for ever.

    The blocked thread cannot be ended; after a VolumeGone the caller must leave with os._exit.
    """
    outcome: list[T] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(work())
        except BaseException as err:
            failed.append(err)

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not outcome:
        raise VolumeGone(f"{doing} within {seconds:g} s. Fix: {fix}")
    return outcome[0]


def differences(there: Any, here: Any, key: str = "") -> list[str]:
    """Where two JSON values differ: 'key: volume has x, this Pod has y', in key order; nested keys with dots."""
    if isinstance(there, dict) and isinstance(here, dict):
        keys = sorted(there.keys() | here.keys())
        return [
            line
            for k in keys
            for line in differences(there.get(k, _ABSENT), here.get(k, _ABSENT), f"{key}.{k}" if key else str(k))
        ]
    # Compared as text, at every depth: Python says 1 == True and 1 == 1.0; JSON does not.
    shown = _shown(there), _shown(here)
    if shown[0] == shown[1] and (there is _ABSENT) == (here is _ABSENT):
        return []
    return [f"{key or 'the whole'}: the volume has {shown[0]}, this Pod has {shown[1]}"]


class _Absent:
    pass


_ABSENT = _Absent()


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else json.dumps(value, sort_keys=True)


class _Explained:
    """Turns OSError into L2RootError with the reason and the fix."""

    def __init__(self, todo: Job, doing: str) -> None:
        self.todo, self.doing = todo, doing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, err: BaseException | None, trace: object) -> None:
        if isinstance(err, OSError):
            kind_of = VolumeGone if err.errno in GONE else L2RootError
            raise kind_of(f"{self.doing}: {err.strerror or err}. Fix: {fix_of(self.todo, err)}") from err


def fix_of(todo: Job, err: OSError) -> str:
    """What a person does about an error of the volume."""
    who = f"uid {os.getuid()} gid {os.getgid()}"
    if err.errno in (errno.EACCES, errno.EPERM):
        return (
            f"let {who} write there: for hostPath, chown {os.getuid()}:{os.getgid()} the directory on the node; "
            "for a claim, use a volume that honours fsGroup"
        )
    if err.errno == errno.EROFS:
        return f"mount a volume at {todo.mount}, read-write; it is read-only, or nothing is mounted there"
    if err.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free space on the L2 volume or make it larger (l2.volume.size)"
    if err.errno in GONE:
        return (
            f"mend the server or CSI driver of the volume at {todo.mount}, which is gone; the Pod tries again by itself"
        )
    if err.errno in (errno.ELOOP, errno.ENOTDIR):
        return "remove the symbolic link or file of that name on the volume; the root must consist of plain directories"
    return "see the error, and check the volume of l2.volume"


def open_root(todo: Job, done: list[str]) -> int:
    """Open the root from / down, making what is missing below the mount; the caller closes the descriptor."""
    at = PurePosixPath("/")
    fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in todo.root.parts[1:]:
            at = at / part
            with _Explained(todo, f"cannot open {at}"):
                fd = _step(fd, at, todo, done)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _step(fd: int, at: PurePosixPath, todo: Job, done: list[str]) -> int:
    """Go one directory down, to ``at``; closes ``fd`` when it worked."""
    part = at.name
    try:
        following = _open_dir(fd, part)
    except FileNotFoundError:
        if todo.mount not in at.parents:
            raise L2RootError(
                f"the L2 volume is not mounted: {at} does not exist. Fix: mount the volume of l2.volume at {todo.mount}"
            ) from None
        made = False
        with contextlib.suppress(FileExistsError):  # Another Pod was faster.
            os.mkdir(part, DIRECTORY_MODE & 0o777, dir_fd=fd)
            made = True
            done.append(f"made {at}")
        following = _open_dir(fd, part)
        if made and at.parent != todo.mount:
            _own(following)
    if at.parent == todo.mount:
        _share(following)
    os.close(fd)
    return following


def _own(fd: int) -> None:
    """The mode without the umask, and this process's group, where a directory above hands down another one."""
    with contextlib.suppress(OSError):
        os.fchown(fd, -1, os.getegid())
    with contextlib.suppress(OSError):
        os.fchmod(fd, DIRECTORY_MODE)


def _share(fd: int) -> None:
    """Opens the version's directory to all lines of business; one of another owner's is that one's to open."""
    about = os.fstat(fd)
    if about.st_uid == os.geteuid() and stat.S_IMODE(about.st_mode) & SHARED_MODE != SHARED_MODE:
        with contextlib.suppress(OSError):
            os.fchmod(fd, SHARED_MODE)


def _open_dir(fd: int, name: str) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
    except NotADirectoryError:
        # With O_DIRECTORY, Linux says ENOTDIR for a symbolic link as well; say which of both it is.
        if stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "it is a symbolic link") from None
        raise OSError(errno.ENOTDIR, "it is not a directory") from None


def _own_tmp(root: int, todo: Job, done: list[str]) -> None:
    """Make this Pod's temporary directory, and empty it: LMCache does not run yet, so files there are leftovers."""
    name = names.L2_TMP_PREFIX + todo.pod
    try:
        os.mkdir(name, DIRECTORY_MODE, dir_fd=root)
        done.append(f"made {todo.root / name}")
    except FileExistsError:
        pass
    tmp = _open_dir(root, name)
    try:
        removed = 0
        for entry in os.listdir(tmp):  # noqa: PTH208 - pathlib knows no descriptors
            if stat.S_ISREG(os.stat(entry, dir_fd=tmp, follow_symlinks=False).st_mode):
                os.unlink(entry, dir_fd=tmp)
                removed += 1
        if removed:
            done.append(f"removed {removed} leftover files from {todo.root / name}")
    finally:
        os.close(tmp)


def _check_writable(root: int, todo: Job) -> None:
    """Do what LMCache does: write below the temporary directory, rename into the root, read, delete."""
    data = os.urandom(4096)
    tmp, probe = f"{names.L2_TMP_PREFIX}{todo.pod}/probe", f".probe-{todo.pod}"
    _write(root, tmp, data)
    try:
        os.rename(tmp, probe, src_dir_fd=root, dst_dir_fd=root)
    except OSError as err:
        if err.errno not in NO_SUCH_CALL:
            raise
        raise L2RootError(
            f"the volume at {todo.mount} cannot rename ({err.strerror}): no block would ever be stored. Fix: use a shared "
            "filesystem (an object store's mount is none), or switch L2 off for this model (cache.l2.enabled: false)"
        ) from err
    try:
        read = _read(root, probe)
    finally:
        os.unlink(probe, dir_fd=root)
    if read != data:
        raise L2RootError(
            f"the volume at {todo.mount} gave back other bytes than were written to {todo.root / probe}. "
            "Fix: do not use this volume; check its server"
        )


def _config(root: int, todo: Job, done: list[str]) -> None:
    """Write config.json if there is none, all or nothing, the first writer wins; then compare what is there."""
    path = todo.root / names.L2_CONFIG_FILE
    try:
        text = _read(root, names.L2_CONFIG_FILE)
    except FileNotFoundError:
        tmp = f"{names.L2_TMP_PREFIX}{todo.pod}/{names.L2_CONFIG_FILE}"
        _write(root, tmp, (json.dumps(todo.config, sort_keys=True, indent=2) + "\n").encode())
        try:
            os.link(tmp, names.L2_CONFIG_FILE, src_dir_fd=root, dst_dir_fd=root)
            done.append(f"wrote {path}")
        except FileExistsError:
            pass  # Another Pod was faster; what it wrote is compared below.
        except OSError as err:
            if err.errno not in NO_LINKS:
                raise
            # A volume without hard links: a rename is whole too, and two Pods of one fingerprint write the same.
            os.rename(tmp, names.L2_CONFIG_FILE, src_dir_fd=root, dst_dir_fd=root)
            done.append(f"wrote {path}")
        finally:
            _unlink_if_there(root, tmp)
        _sync(root)
        text = _read(root, names.L2_CONFIG_FILE)
    try:
        there = json.loads(text)
    except ValueError:
        raise L2RootError(
            f"{path} is not JSON, so that nobody knows what wrote the files beside it. "
            f"Fix: stop the model, delete {todo.root}, start it again"
        ) from None
    lines = differences(there, todo.config)
    if lines:
        raise L2RootError(
            f"{path} was written for other values: {'; '.join(lines)}. "
            f"Fix: delete {todo.root} while no Pod uses it, or use another lineOfBusiness or volume"
        )


def _write(root: int, name: str, data: bytes) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, FILE_MODE, dir_fd=root)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        _sync(file.fileno())


def _sync(fd: int) -> None:
    """fsync, where the filesystem has it. Without it a crash of the node may cost what was just written, never more."""
    try:
        os.fsync(fd)
    except OSError as err:
        if err.errno not in (errno.EINVAL, *NO_SUCH_CALL):
            raise


def _read(root: int, name: str) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=root), "rb") as file:
        return file.read()


def _unlink_if_there(root: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=root)
