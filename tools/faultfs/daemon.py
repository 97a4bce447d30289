"""A fault filesystem as a child process of a test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from . import mounts
from .client import Faults

START_SECONDS = 20.0
STOP_SECONDS = 5.0


class FaultFs:
    """A mounted fault filesystem: `mount`, `backing`, and `faults` to switch them.

    Args:
        folder: where `mount`, `backing` and the control socket are made; kept as they are if they exist.
        options: more of the command line, such as `--direct-io`.

    Raises:
        RuntimeError: it did not start; the text is what it said.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.mount, self.backing = folder / "mount", folder / "backing"
        self._folder, self._options = folder, options
        self._log = folder / "faultfs.log"
        # Of a mount that somebody killed a plain mkdir would say that it exists and is no directory.
        if not mounts.at(self.mount):
            self.mount.mkdir(parents=True, exist_ok=True)
        self.backing.mkdir(exist_ok=True)
        self.start()

    def start(self) -> None:
        """Mount; also after `kill`, whose dead mount goes first."""
        # Below the folder its path may be longer than the 107 bytes of a unix socket's address.
        control = Path(f"/proc/self/fd/{os.open(self._folder, os.O_PATH)}")
        socket = self._folder / "control"
        socket.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "faultfs",
            str(self.mount),
            str(self.backing),
            "--control",
            "control",
            "--end-with-parent",
        ]
        tools = str(Path(__file__).parent.parent)
        path = os.pathsep.join([tools, *filter(None, [os.environ.get("PYTHONPATH")])])
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *self._options],
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": path},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        try:
            self.faults = self._connect(control / "control")
        finally:
            os.close(int(control.name))

    def _connect(self, socket: Path) -> Faults:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                faults = Faults(socket)
                faults.ask("ping")
                return faults
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise RuntimeError(f"the fault filesystem did not start: {self._log.read_text()}") from None
                time.sleep(0.01)

    def kill(self) -> None:
        """SIGKILL: the mount stays and answers ENOTCONN."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it and take the mount away, whatever state both are in. Never asks the mount."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        mounts.clean(self.mount)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.faults.close()
        self.stop()
