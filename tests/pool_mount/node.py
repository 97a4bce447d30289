"""A node in a mount namespace of its own: a shared directory for the pool, the supervisor, and Pods that are slaves of it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from faultfs import mounts
from faultfs.client import Faults
from local_cluster.helm import CHART
from local_cluster.settings import REPO

SCRIPT = CHART / "files/pool_mount.sh"
OWNER = 10001
SECONDS = 30.0
"""For what has to come true at some time; a busy machine is slow."""

_DISK = 'mount -t tmpfs pool-mount-test "$0" && mount --make-shared "$0" && mkdir "$0/pool" && echo ready && exec cat'
_ENGINE = f"setpriv --reuid={OWNER} --regid={OWNER} --clear-groups"
_POD = f'mount --rbind "$0" /mnt && cd /mnt && exec {_ENGINE} "$@"'
_READER = 'while :; do { read -r text <"$0" && echo "$text"; } || echo gone; sleep 0.05; done 2>/dev/null'


def until(look: Callable[[], bool], what: str, seen: Callable[[], str] = str) -> None:
    """Wait until `look` says yes.

    Raises:
        TimeoutError: it never did; the text says `what`, and what is `seen` instead.
    """
    end = time.monotonic() + SECONDS
    while not look():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {SECONDS:g} s: {what}. {seen()}")
        time.sleep(0.02)


class Node:
    """`pool` is POOL_DIR, as processes of the node see it; `backing` holds the pool's files.

    The mounts are in a namespace that ends with this object: a tmpfs is the node's disk, and the machine sees none of it.
    """

    def __init__(self, folder: Path, shell: str) -> None:
        self._folder, self._shell = folder, shell
        self._disk = folder / "disk"
        self.pool = self._disk / "pool"
        self.backing = folder / "backing"
        self._log = folder / "log"
        for made in (self._disk, self.backing):
            made.mkdir()
        self.supervisor: subprocess.Popen[bytes] | None = None
        self._pods: list[subprocess.Popen[bytes]] = []
        # It reads from us: it ends when this process does, and the namespace with it.
        self._holder = subprocess.Popen(
            ["unshare", "-m", "--propagation", "private", "sh", "-c", _DISK, str(self._disk)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout
        assert self._holder.stdout.readline() == b"ready\n", "no namespace with a tmpfs. fix: run the tests as root"
        self.command = self.program(
            "served",
            f"PYTHONPATH={shlex.quote(str(REPO / 'tools'))}; export PYTHONPATH\n"
            # As in a container: who is left when the supervisor has ended is killed.
            f"exec setpriv --pdeathsig=KILL {shlex.quote(sys.executable)} -m faultfs"
            f' "$1" {self.backing} --control {self.control} --allow-other',
        )

    @property
    def control(self) -> Path:
        """Socket of the fault filesystem."""
        return self._folder / "control"

    def program(self, name: str, text: str) -> Path:
        """A shell script for POOL_COMMAND."""
        made = self._folder / name
        made.write_text(f"#!/bin/sh\n{text}\n")
        made.chmod(0o755)
        return made

    # Processes

    def inside(self, command: Iterable[str | Path], propagation: str = "unchanged") -> list[str]:
        """A command line that runs in a mount namespace of its own: `unchanged` is Bidirectional, `slave` HostToContainer."""
        enter = ["nsenter", "-t", str(self._holder.pid), "-m", "unshare", "-m", "--propagation", propagation]
        return [*enter, *map(str, command)]

    def on_node(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run something to its end as somebody on the node."""
        enter = ["nsenter", "-t", str(self._holder.pid), "-m"]
        return subprocess.run(
            [*enter, *map(str, command)], capture_output=True, text=True, check=False, timeout=SECONDS
        )

    def _pod(self, line: str, *command: str) -> list[str]:
        """An engine's Pod: the line's directory is mounted into it and is its working directory."""
        return self.inside(["sh", "-c", _POD, self.pool / line, *command], "slave")

    def in_pod(self, line: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run something to its end in a Pod that starts now."""
        return subprocess.run(self._pod(line, *command), capture_output=True, text=True, check=False, timeout=SECONDS)

    def reader(self, line: str, name: str) -> Reader:
        """A Pod that reads a file of a line of business for ever."""
        seen = self._folder / f"seen-{len(self._pods)}"
        with seen.open("wb") as out:
            self._pods.append(subprocess.Popen(self._pod(line, "sh", "-c", _READER, f"fs/{name}"), stdout=out))
        return Reader(self._pods[-1], seen)

    def start(self, lines: str = "retail cards", prefix: Iterable[str] = (), **environment: str) -> None:
        """Start the supervisor."""
        given = {
            "POOL_DIR": str(self.pool),
            "POOL_LINES": lines,
            "POOL_COMMAND": str(self.command),
            **environment,
        }
        self._log.touch()
        self._from = self._log.stat().st_size
        command = [*prefix, "setpriv", "--pdeathsig=KILL", *self._shell.split(), str(SCRIPT)]
        with self._log.open("ab") as log:
            self.supervisor = subprocess.Popen(
                self.inside(command),
                env={**os.environ, **given},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def started(self, lines: str = "retail cards", **environment: str) -> Faults:
        """Start it and wait until all lines of business are bound."""
        self.start(lines, **environment)
        for line in lines.split():
            self.said(f"{line}: bound")
        return Faults(self.control)

    def bound(self, lines: str = "retail cards") -> None:
        """Wait until these lines of business have a mount, also a dead one."""
        wanted = {self.pool / line / "fs" for line in lines.split()}
        until(lambda: wanted <= {one.point for one in self.pool_mounts()}, f"{lines} bound", self.log)

    def terminate(self, seconds: float = SECONDS) -> int:
        """SIGTERM; the exit status."""
        assert self.supervisor
        self.supervisor.terminate()
        return self.supervisor.wait(seconds)

    def kill_all(self) -> None:
        """The machine kills the container: no process of it can do anything."""
        assert self.supervisor
        os.killpg(self.supervisor.pid, signal.SIGKILL)
        self.supervisor.wait()

    def stop(self) -> None:
        """End supervisor and Pods, in whatever state they are."""
        if self.supervisor and self.supervisor.poll() is None:
            self.terminate()
        for pod in self._pods:
            pod.kill()
            pod.wait()

    # What there is

    def log(self) -> str:
        """What the latest supervisor said."""
        return self._log.read_bytes()[self._from :].decode()

    def said(self, text: str) -> None:
        """Wait until it has said so."""
        until(lambda: text in self.log(), f"a log with {text!r}", self.log)

    def mounted(self) -> list[mounts.Mount]:
        """All mounts below the node's disk, as the node sees them."""
        found = mounts.all_mounts(self._holder.pid)
        return [one for one in found if self._disk in one.point.parents]

    def pool_mounts(self) -> list[mounts.Mount]:
        """Those of the fault filesystem."""
        return [one for one in self.mounted() if one.kind == f"fuse.{mounts.SUBTYPE}"]

    def server(self) -> int:
        """Process that serves the pool."""
        [source] = {one.source for one in self.pool_mounts()}
        return int(source.rpartition(":")[2])

    def seen(self, path: Path) -> Path:
        """A path of the node, for this process."""
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def beside_the_pool(self) -> list[str]:
        """Names on the node's own disk in directories where the pool belongs; the mounts have to be gone."""
        assert not self.mounted()
        return [str(one) for place in self.seen(self.pool).glob("*/fs") for one in place.iterdir()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self.supervisor and self.supervisor.poll() is None:
            self.kill_all()
        elif self.supervisor:
            # Whom it left behind.
            subprocess.run(["pkill", "-KILL", "-s", str(self.supervisor.pid)], check=False)
        for pod in self._pods:
            pod.kill()
            pod.wait()
        self._holder.communicate()


class Reader:
    """A running Pod's view of a file, one line for each look at it."""

    def __init__(self, process: subprocess.Popen[bytes], seen: Path) -> None:
        self.process, self._seen = process, seen

    def sees(self, text: str) -> None:
        """Wait until its latest look found this text; `gone` where it found nothing. It must be the same process still."""
        until(lambda: self._seen.read_text().splitlines()[-1:] == [text], f"a Pod that sees {text!r}", self._last)
        assert self.process.poll() is None

    def _last(self) -> str:
        return self._seen.read_text()[-200:]
