"""A container's last message: the kubelet copies it into the Pod's status, where verify and people find it."""

from __future__ import annotations

import contextlib
from pathlib import Path

TERMINATION_LOG = "/dev/termination-log"
MOST_BYTES = 4000
"""The kubelet keeps 4096."""


def leave_message(text: str, path: str = TERMINATION_LOG) -> None:
    """Leave ``text`` for the Pod's status; outside a Pod nothing happens."""
    with contextlib.suppress(OSError):
        if Path(path).exists():
            Path(path).write_bytes(text.encode()[:MOST_BYTES])
