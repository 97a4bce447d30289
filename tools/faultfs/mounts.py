"""Our mounts on this machine: which there are, and how to take one away without asking it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import syscalls

SUBTYPE = "faultfs"
READ_AHEAD_KIB = 4096


@dataclass(frozen=True)
class Mount:
    """A line of /proc/self/mountinfo; `source` is `faultfs:<pid of the process that serves it>`."""

    point: Path
    kind: str
    source: str
    device: str


def all_mounts(process: int | str = "self") -> list[Mount]:
    """Every mount that a process sees, the newest last."""
    found = []
    for line in Path(f"/proc/{process}/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, source) = before.split(), after.split()[:2]
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        found.append(Mount(Path(os.fsdecode(point.encode("latin-1"))), kind, source, fields[2]))
    return found


def at(point: Path) -> list[Mount]:
    """Mounts of ours at this directory, the uppermost first. Looks at no file below it: it may hang."""
    place = Path(os.path.abspath(point))  # noqa: PTH100 - resolve() would ask the mount
    return [one for one in reversed(all_mounts()) if one.point == place and one.kind == f"fuse.{SUBTYPE}"]


def server(mount: Mount) -> int:
    """Process number of who serves a mount; 0 where it has ended."""
    pid = int(mount.source.rpartition(":")[2])
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return 0
    return pid if f"\0-m\0{SUBTYPE}\0".encode() in command else 0


def detach(point: Path) -> None:
    """Take the uppermost mount of ours away, lazily: works on hung and on dead ones (ENOTCONN).

    Raises:
        OSError: nothing could do it.
    """
    try:
        syscalls.detach(point)
    except PermissionError:
        # Who is not root asks the setuid program that came with libfuse.
        program = shutil.which("fusermount3")
        if not program:
            raise
        subprocess.run([program, "-u", "-z", "--", str(point)], check=True, capture_output=True, timeout=30)


def clean(point: Path) -> int:
    """Take away mounts of ours that nobody serves any more (their process was killed); how many.

    Raises:
        FileExistsError: a live process serves one.
    """
    done = 0
    for mount in at(point):
        if pid := server(mount):
            raise FileExistsError(
                f"{point}: process {pid} serves it. fix: end that process (SIGTERM), or choose another place"
            )
        detach(point)
        done += 1
    return done


def read_ahead(point: Path) -> bool:
    """Let the kernel ask for large pieces: a FUSE mount starts with 128 KiB a request. Whether it could be set."""
    found = at(point)
    if not found:
        return False
    try:
        Path(f"/sys/class/bdi/{found[0].device}/read_ahead_kb").write_text(str(READ_AHEAD_KIB))
    except OSError:
        return False
    return True
