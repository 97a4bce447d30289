"""Server processes that end with the tests: also when the tests are killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    """In the child, before the program: SIGKILL when the process that started it is gone."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Processes:
    """Programs that run side by side, each with a log file of its own.

    Args:
        logs: folder of the log files.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str | os.PathLike[str]]) -> None:
        """Start a program; its output goes to `<name>.log`."""
        with (self._logs / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # They live for minutes: up to a bound, memory is cheaper than the garbage collector's time.
                env={**os.environ, "GOGC": "400", "GOMEMLIMIT": "1GiB"},
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - the tests' main thread starts them, and has no other yet
            )

    def wait_for(self, what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        """Poll until the condition holds.

        Raises:
            RuntimeError: a program ended, or `timeout_s` seconds passed; holds the programs' last lines.
        """
        deadline = time.monotonic() + timeout_s
        while not condition():
            ended = [name for name, process in self._running.items() if process.poll() is not None]
            if ended:
                raise RuntimeError(f"{what}: {', '.join(ended)} ended\n{self._tails(ended)}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}: not within {timeout_s:.0f} s\n{self._tails(self._running)}")
            time.sleep(0.05)

    def end(self, name: str, timeout_s: float = 30.0) -> int:
        """Ask one program to end (SIGTERM), and its exit code.

        Raises:
            subprocess.TimeoutExpired: it did not end within `timeout_s` seconds.
        """
        process = self._running.pop(name)
        process.terminate()
        try:
            return process.wait(timeout_s)
        finally:
            process.kill()

    def stop(self) -> None:
        """End all at once: nothing of theirs is kept."""
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def _tails(self, names: Sequence[str] | dict[str, subprocess.Popen[bytes]]) -> str:
        texts = []
        for name in names:
            lines = (self._logs / f"{name}.log").read_text(errors="replace").splitlines()[-8:]
            texts.append("\n".join([f"--- {name} ({self._logs / name}.log)", *lines]))
        return "\n".join(texts)
