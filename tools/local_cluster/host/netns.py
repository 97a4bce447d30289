"""A network namespace without uplink, in which podman and the nodes live.

No packet of the cluster can leave the machine, and the machine's own firewall tables stay as they are.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..run import output, run

NAME = "tkc-cluster"
_FILE = Path("/run/netns") / NAME


def enter(command: list[str]) -> list[str]:
    """`command` inside the namespace. nsenter, not `ip netns exec`: that mounts a new /sys, which hides the control groups."""
    return ["nsenter", f"--net={_FILE}", "--", *command]


def usable() -> bool:
    return _FILE.exists() and bool(output(enter(["echo", "yes"]), check=False))


def ensure() -> None:
    """Create the namespace; one whose holder was killed is only a file and is replaced."""
    if not usable():
        delete()
        run(["ip", "netns", "add", NAME], log="network", fix="run as root")
    run(["ip", "-n", NAME, "link", "set", "lo", "up"], log="network", fix="run as root")


def delete() -> None:
    """Remove the namespace with every bridge, rule and route in it."""
    output(["ip", "netns", "del", NAME], check=False)
    with contextlib.suppress(FileNotFoundError):
        _FILE.unlink()
