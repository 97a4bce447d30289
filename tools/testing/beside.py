"""A command that runs beside the rest of the tests, and whose output is shown in one piece when it is waited for."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from local_cluster.progress import phase

_END_S = 60.0
"""Seconds in which interrupted tests can take down what they started: mounts, servers."""


def _interruptible() -> None:
    """A shell starts what it puts in the background with interrupts ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Beside:
    """Use it as a context manager: what still runs at the end of the block is interrupted, with all that it started.

    Args:
        name: for the progress while it is waited for.
        command: its output is kept in a temporary file, so that no line of it stands between those of others.
    """

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self._name = name
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_interruptible,  # noqa: PLW1509 - no thread runs beside this
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._output.close()

    def passed(self) -> bool:
        """Wait for its end, print all that it printed, and tell whether it ended with 0."""
        with phase(f"waiting for {self._name}"):
            code = self._process.wait()
        self._output.seek(0)
        sys.stdout.write(self._output.read().decode(errors="replace"))
        sys.stdout.flush()
        return code == 0
