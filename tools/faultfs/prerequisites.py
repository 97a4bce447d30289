"""What the machine needs: /dev/fuse, and the package fuse3 (libfuse3 and fusermount3)."""

from __future__ import annotations

import ctypes.util
import os
from pathlib import Path

PACKAGE = "fuse3"
"""On Debian and Ubuntu. The library's own package has other names in other releases (libfuse3-3, libfuse3-4)."""


def missing() -> list[str]:
    """What lacks, each with its fix; empty where a mount can be made."""
    found = []
    if not Path("/dev/fuse").exists():
        found.append(
            "/dev/fuse: not there. fix: modprobe fuse, or give the container the device /dev/fuse and CAP_SYS_ADMIN"
        )
    elif not os.access("/dev/fuse", os.R_OK | os.W_OK):
        found.append("/dev/fuse: no access for this user. fix: run as root, or chmod 0666 /dev/fuse")
    if not ctypes.util.find_library("fuse3"):
        found.append(
            f"libfuse3: not installed. fix: apt-get install {PACKAGE} (Debian, Ubuntu; elsewhere the package of libfuse 3)"
        )
    return found
