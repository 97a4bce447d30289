"""A container's last message: the kubelet copies it into the Pod's status, where verify and people find it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import NoReturn

TERMINATION_LOG = "/dev/termination-log"
MOST_BYTES = 4000
"""The kubelet keeps 4096."""


def leave_message(text: str, path: str = TERMINATION_LOG) -> None:
    """Leave ``text`` for the Pod's status; outside a Pod nothing happens."""
    with contextlib.suppress(OSError):
        if Path(path).exists():
            Path(path).write_bytes(text.encode()[:MOST_BYTES])


def refuse(verb: str, text: str) -> NoReturn:
    """End this init container with 1 and ``text``: each line for the log, all of it for the Pod's status."""
    for line in text.splitlines():
        print(f"{verb}: {line}", file=sys.stderr, flush=True)
    # verify and kubectl describe show it from there.
    leave_message(text)
    # Not by return: a thread that hangs in the volume would keep the process alive.
    sys.stdout.flush()
    os._exit(1)
