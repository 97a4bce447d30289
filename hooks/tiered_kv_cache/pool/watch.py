"""pool-watch: looks at the pool's mounts of this node again and again, and tells metrics, probes, and the cluster."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from types import FrameType

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from .. import webserver
from ..findings import UsageError
from ..keeper import kube
from . import published
from .board import Board
from .metrics import LABEL, Metrics
from .prober import Prober, look
from .reporter import Reporter

MOUNT = "fs"
STALE_PERIODS = 5
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


Places = Callable[[], Mapping[str, str]]
"""The mounts to be looked at now: paths by names."""


def lines_below(directory: str, lines: Sequence[str]) -> Places:
    """Always <line of business>/fs for each."""
    # The last part is not resolved: that would ask the mount.
    return lambda: {line: str(Path(directory, line).resolve() / MOUNT) for line in lines}


class Watch:
    """All mounts of a node. ``label``: what their names are, in metrics."""

    def __init__(
        self, places: Places, deadline: float, period: float, reporter: Reporter, label: str = LABEL,
    ) -> None:  # fmt: skip
        self._places, self._deadline, self._period, self._reporter = places, deadline, period, reporter
        self._probers: dict[str, tuple[str, Prober]] = {}
        self.board = Board(tuple(places()), STALE_PERIODS * (period + deadline))
        self.metrics = Metrics(self.board, label)

    def _follow(self, places: Mapping[str, str]) -> None:
        for name in [name for name, (path, _) in self._probers.items() if places.get(name) != path]:
            self._probers.pop(name)[1].close()
        for name in places.keys() - self._probers.keys():
            self._probers[name] = (places[name], Prober(name, places[name]))
        if tuple(places) != tuple(self.board.lines):
            self.board.follow(tuple(places))
            self.metrics.follow(tuple(places))

    def close(self) -> None:
        """Let the helpers end."""
        for _, prober in self._probers.values():
            prober.close()

    def round(self) -> None:
        """One look at all, within the deadline."""
        self._follow(self._places())
        outcomes = look([prober for _, prober in self._probers.values()], self._deadline)
        changes = self.board.take(outcomes)
        self.metrics.count(outcomes)
        self._reporter.take(changes, self.board.text())
        self._reporter.tick()

    def run(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """For ever."""
        while True:
            began = time.monotonic()
            self.round()
            sleep(max(0.0, began + self._period - time.monotonic()))

    def pages(self) -> dict[str, webserver.Page]:
        """What the port shows."""

        def health() -> tuple[int, bytes, str]:
            problem = self.board.problem()
            return 503 if problem else 200, f"{problem or 'ok'}\n".encode(), webserver.PLAIN

        return {
            "/metrics": lambda: (200, generate_latest(self.metrics.registry), CONTENT_TYPE_LATEST),
            "/healthz": health,
        }


def main(args: argparse.Namespace) -> int:
    """Watch until SIGTERM, then leave with 0. Raises UsageError."""
    # First of all: as the first process of a container it gets no signal that it does not handle.
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    _check(args)
    api = kube.connect()
    if api is not None and not (args.pod and args.namespace):
        raise UsageError("pool-watch: --pod and --namespace are needed in a cluster. Fix: give both (downward API)")
    if args.kubelet:
        reporter = Reporter(api, args.namespace, args.pod, _say, published.advice)
        places: Places = partial(published.find, args.kubelet.rstrip("/"), args.pod_logs)
        watch = Watch(places, args.deadline, args.period, reporter, "pod")
        what = f"the Pods' mounts below {args.kubelet}"
    else:
        reporter = Reporter(api, args.namespace, args.pod, _say)
        watch = Watch(lines_below(args.directory, args.line_of_business), args.deadline, args.period, reporter)
        what = f"{', '.join(args.line_of_business)} below {args.directory}"
    try:
        server = webserver.serve(args.port, watch.pages())
    except OSError as err:
        raise UsageError(f"--port {args.port}: {err.strerror}. Fix: give a free one") from err
    _say(f"watches {what}; port {server.server_address[1]}")
    if api is not None:
        reporter.start()
    watch.run()
    return 0


def _check(args: argparse.Namespace) -> None:
    faults = []
    lines: list[str] = args.line_of_business
    name = "kubelet" if args.kubelet else "directory"
    place: str = getattr(args, name)
    if not place.startswith("/") or ".." in PurePosixPath(place).parts:
        faults.append(f"--{name} {place!r} is no absolute, plain path. Fix: give one")
    if args.kubelet and (args.directory or lines):
        faults.append(
            f"--kubelet {args.kubelet} and --directory {args.directory} with its lines of business exclude one another. Fix: give one"
        )
    elif not args.kubelet and not lines:
        faults.append("--line-of-business is not given. Fix: name those that have a mount, or give --kubelet")
    faults += [
        f"--line-of-business {line!r} is no name. Fix: a-z, 0-9 and '-' inside"
        for line in lines
        if not _NAME.fullmatch(line)
    ]
    faults += [
        f"--line-of-business {line} is given twice. Fix: once"
        for line in sorted({x for x in lines if lines.count(x) > 1})
    ]
    for name in ("deadline", "period"):
        if not getattr(args, name) > 0:
            faults.append(f"--{name} {getattr(args, name):g} is not above 0. Fix: give seconds")
    if faults:
        raise UsageError("\n".join(faults))


def _leave(number: int, frame: FrameType | None) -> None:
    # At once, and not by return: nothing is left to be done, and the helpers end when their calls come back.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        print(f"pool-watch: {line}", flush=True)
