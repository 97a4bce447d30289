"""Debian and Ubuntu packages that a run needs and the machine lacks."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

from ..problem import Problem
from ..progress import phase
from ..run import run

PODMAN = {
    "podman": "podman", "conmon": "conmon", "netavark": "/usr/lib/podman/netavark", "aardvark-dns": "/usr/lib/podman/aardvark-dns",
    "runc": "runc", "buildah": "buildah", "iproute2": "ip", "nftables": "nft", "iptables": "iptables", "util-linux": "nsenter",
}  # fmt: skip
"""Package -> a program that it brings: podman with networks of its own, and what builds images."""

ROOTFS = {"mmdebstrap": "mmdebstrap"}
"""What makes a Debian root filesystem where no image registry can be reached."""


_apt = threading.Lock()
"""Images and nodes are prepared side by side, and apt-get runs once at a time."""


def missing(wanted: Mapping[str, str]) -> list[str]:
    return [package for package, program in wanted.items() if not (shutil.which(program) or Path(program).exists())]


def ensure(wanted: Mapping[str, str], why: str) -> None:
    """Install what is missing with apt-get, saying what and why first.

    Raises:
        Problem: not Debian or Ubuntu, not root, or apt failed.
    """
    with _apt:
        _install(missing(wanted), wanted, why)


def _install(packages: list[str], wanted: Mapping[str, str], why: str) -> None:
    if not packages:
        return
    if not shutil.which("apt-get"):
        raise Problem(
            f"missing programs: {', '.join(wanted[p] for p in packages)} ({why})",
            "install them; only Debian and Ubuntu are automatic",
        )
    with phase(f"apt-get install {' '.join(packages)}", why):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        fix = "check the machine's package sources (`apt-get update`)"
        run(["apt-get", "update", "-q"], log="apt", env=env, fix=fix, timeout_s=300)
        run(
            ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages],
            log="apt",
            env=env,
            fix=fix,
            timeout_s=900,
        )
