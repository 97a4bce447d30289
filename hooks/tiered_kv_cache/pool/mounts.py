"""Mounts as /proc/self/mountinfo lists them: it never asks a filesystem, so it answers while one hangs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
_OCTAL = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """``root``: the directory of its filesystem that is seen at ``point``; ``kind``: its type, as
    "fuse.curvinefs"; ``source``: as mounted."""

    number: int
    root: str
    point: str
    kind: str = ""
    source: str = ""


def every(mountinfo: Path = MOUNTINFO) -> Iterator[Mount]:
    """All of them, each above those that lie over it."""
    for line in mountinfo.read_bytes().splitlines():
        fields = line.split(b" ")
        if len(fields) > 4:
            # Behind a variable number of fields, which a "-" ends.
            kind, source = [*map(_text, line.partition(b" - ")[2].split(b" ")[:2]), "", ""][:2]
            yield Mount(int(fields[0]), _text(fields[3]), _text(fields[4]), kind, source)


def at(path: str, mountinfo: Path = MOUNTINFO) -> Mount | None:
    """The mount at this directory, the uppermost of several; None if nothing is mounted there."""
    # Of several at one place the last line is the one that is seen.
    return next((mount for mount in reversed(list(every(mountinfo))) if mount.point == path), None)


def over(path: str, mountinfo: Path = MOUNTINFO) -> Mount | None:
    """The mount that this path lies in."""
    found = None
    for mount in every(mountinfo):
        inside = f"{path}/".startswith(f"{mount.point.rstrip('/')}/")
        if inside and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def appears(path: str, seconds: float, mountinfo: Path = MOUNTINFO) -> bool:
    """Whether something is mounted at this directory, waiting for it so long."""
    end = time.monotonic() + seconds
    while at(path, mountinfo) is None:
        if time.monotonic() >= end:
            return False
        time.sleep(0.2)
    return True


def _text(field: bytes) -> str:
    return os.fsdecode(_OCTAL.sub(lambda octal: bytes([int(octal[1], 8) & 0xFF]), field))
