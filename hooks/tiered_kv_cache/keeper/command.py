"""The verb keeper: settings in, a service, one round, or a table out."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .. import names
from ..findings import UsageError
from ..pool import mounts
from ..termination import leave_message
from . import config, kube, layout, lease, report, server
from .config import Settings
from .events import Events
from .keeper import Keeper
from .pace import Pace
from .service import Service
from .tree import Tree
from .watch import Watch

STATUS_SECONDS = 5.0


def main(args: argparse.Namespace) -> bool:
    """Run; True if all is well. Raises UsageError."""
    if args.what == "status":
        return _status(args)
    if not args.config and not args.mount:
        raise UsageError(
            "keeper: neither --config nor --mount is given. Fix: name the settings, or the volume for a look"
        )
    settings = config.load(args.config, args.mount) if args.config else config.parse({}, "--mount", args.mount)
    return _once(args, settings) if args.once else _service(args, settings)


def _once(args: argparse.Namespace, settings: Settings) -> bool:
    """One round in this process, with a deadline on each operation."""
    right = lease.Right(None)
    keeper = Keeper(settings, right.check, dry=args.dry_run, events=Events(log=_say))
    outcome: list[BaseException | None] = []

    def work() -> None:
        try:
            if args.dry_run:
                keeper.round()
            elif _taken(right, settings, keeper):
                keeper.round()
                if right.fence is not None:
                    right.fence.release()
            else:
                keeper.x.clock.guess(time.time())
                keeper.publish()
            outcome.append(None)
        except BaseException as err:
            outcome.append(err)

    threading.Thread(target=work, name="volume", daemon=True).start()
    while not outcome:
        time.sleep(0.05)
        seconds, what = keeper.watch.stuck()
        if seconds > settings.deadline:
            outcome.append(OSError(0, f"the volume has not answered for {seconds:.0f} s ({what})"))
    if isinstance(outcome[0], OSError | lease.LeaseLost):
        why = getattr(outcome[0], "strerror", None) or outcome[0]
        text = f"keeper: {settings.mount}: {why}. Fix: mend the volume, or look who else keeps it"
        print(text, file=sys.stderr, flush=True)
        leave_message(text)
        sys.stdout.flush()
        os._exit(1)
    if outcome[0] is not None:
        raise outcome[0]
    _print(keeper.state.as_json(), args.json)
    return True


def _taken(right: lease.Right, settings: Settings, keeper: Keeper) -> bool:
    """Wait until no other keeper works here; False where nobody has stored anything yet, and there is nothing to do."""
    right.fence = _fence(settings, keeper)
    while not right.take():
        if not _is_tree(settings, keeper):
            return False
        time.sleep(1)
    return True


def _is_tree(settings: Settings, keeper: Keeper) -> bool:
    tree = _unguarded(settings, keeper)
    with tree.top() as top, tree.directory(top, layout.VERSION) as root:
        return root is not None


def _service(args: argparse.Namespace, settings: Settings) -> bool:
    api = kube.connect()
    where = settings.lease
    namespace = where.namespace or _namespace()
    if where.name and api is None:
        raise UsageError(
            f"lease.name: {where.name!r} is set, and this process runs in no cluster. Fix: leave it out; the mark in the tree decides"
        )
    election = (
        kube.KubeLease(api, namespace, where.name, _identity(), seconds=where.seconds) if api and where.name else None
    )
    events = Events(api, namespace, _say)
    right = lease.Right(None, election)
    watch = Watch()
    keeper = Keeper(settings, right.check, dry=args.dry_run, events=events, watch=watch)
    if not args.dry_run:
        right.fence = _fence(settings, keeper, f"{namespace}/{where.name}" if election else "")
    if settings.port:
        try:
            server.serve(keeper.state, settings.port)
        except OSError as err:
            raise UsageError(f"port: {settings.port}: {err.strerror}. Fix: give a free one, or 0 for none") from err
    _await_mount(str(settings.mount), args.pool_wait)
    Service(keeper, right, election, _say, _leave).run()
    return True


def _await_mount(mount: str, seconds: float) -> None:
    """Wait so long until something is mounted there; without it the first round finds what is wrong."""
    if not seconds or mounts.at(mount):
        return
    # The first process of a container gets no signal that it does not handle.
    before = signal.signal(signal.SIGTERM, lambda *_: _leave(0))
    _say(f"waiting for the pool at {mount}, {seconds:g} s at most")
    mounts.appears(mount, seconds)
    signal.signal(signal.SIGTERM, before)


def _leave(code: int) -> None:
    sys.stdout.flush()
    os._exit(code)


def _fence(settings: Settings, keeper: Keeper, election: str = "") -> lease.Fence:
    return lease.Fence(_unguarded(settings, keeper), _identity(), settings.lease.seconds, election=election)


def _unguarded(settings: Settings, keeper: Keeper) -> Tree:
    """A tree that asks for no right: what finds out whether there is one must not ask itself."""
    return Tree(settings.mount, Pace(0), keeper.watch)


def _identity() -> str:
    # With the process: a container that restarts in its Pod is another keeper.
    return f"{os.environ.get(names.ENV_POD_NAME) or socket.gethostname()}-{os.getpid()}-{int(time.time())}"


def _namespace() -> str:
    with contextlib.suppress(OSError):
        return Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read_text().strip()
    return "default"


def _status(args: argparse.Namespace) -> bool:
    import httpx  # noqa: PLC0415

    try:
        with httpx.Client(trust_env=False, timeout=STATUS_SECONDS) as client:
            answer = client.get(args.url.rstrip("/") + "/status")
            answer.raise_for_status()
            status: dict[str, Any] = answer.json()
    except (httpx.HTTPError, ValueError) as err:
        text = f"keeper: {args.url} gives no status: {err}. Fix: --url of a keeper that runs, by port forwarding say"
        print(text, file=sys.stderr)
        return False
    _print(status, args.json)
    return not status["problem"] and not status["stuck"]["seconds"]


def _print(status: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(status, indent=2))
        return
    from rich.console import Console  # noqa: PLC0415

    console = Console()
    report.show(status, console if console.is_terminal else Console(width=160))


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        print(f"keeper: {line}", file=sys.stderr, flush=True)
