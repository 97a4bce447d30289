"""`python -m faultfs MOUNT BACKING --control SOCKET`: mount, serve, and leave no mount behind."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path

from . import mounts, prerequisites
from .control import Control
from .filesystem import Filesystem
from .rules import Rules
from .syscalls import end_with_parent
from .watch import Watch

ENDS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
DRAIN_SECONDS = 1.0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="faultfs", description="A passthrough FUSE filesystem with faults switched at run time."
    )
    made.add_argument("mount", type=Path, help="directory to mount on")
    made.add_argument("backing", type=Path, help="directory that holds the files")
    made.add_argument("--control", type=Path, required=True, help="path of the unix socket that switches faults")
    made.add_argument("--allow-other", action="store_true", help="other users may use the mount")
    made.add_argument("--no-default-permissions", action="store_true", help="modes and owners are not checked")
    made.add_argument("--direct-io", action="store_true", help="no page cache: every read reaches the faults")
    made.add_argument(
        "--entry-timeout", type=float, default=0.0, help="seconds the kernel believes a name (Curvine: 1)"
    )
    made.add_argument("--attr-timeout", type=float, default=0.0, help="seconds it believes attributes (Curvine: 1)")
    made.add_argument(
        "--negative-timeout", type=float, default=0.0, help="seconds it believes that a name is absent (Curvine: 0)"
    )
    made.add_argument("--seed", type=int, default=0, help="of the faults that have a probability, and of flipped bits")
    made.add_argument("--end-with-parent", action="store_true", help="end when the starting process has ended")
    return made


def _problems(asked: argparse.Namespace) -> list[str]:
    found = [
        f"{name}={path}: not a directory. fix: make it"
        for name, path in (("BACKING", asked.backing), ("MOUNT", asked.mount))
        if not path.is_dir()
    ]
    if not asked.control.absolute().parent.is_dir():
        found.append(f"--control={asked.control}: its directory does not exist. fix: make it")
    return found + prerequisites.missing()


def main() -> int:
    asked = parser().parse_args()
    logging.basicConfig(level=logging.WARNING, format="faultfs: %(message)s")
    try:
        cleaned = mounts.clean(asked.mount)
    except FileExistsError as error:
        print(f"faultfs: {error}", file=sys.stderr)
        return 1
    if cleaned:
        print(f"faultfs: took {cleaned} dead mount(s) away from {asked.mount}", file=sys.stderr)
    if problems := _problems(asked):
        print("\n".join(f"faultfs: {text}" for text in problems), file=sys.stderr)
        return 1
    if asked.end_with_parent:
        end_with_parent()
    # Blocked before any thread exists, so that they reach sigwait below and nothing else.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    os.umask(0)
    return _serve(asked)


def _serve(asked: argparse.Namespace) -> int:
    from . import fuse  # noqa: PLC0415 - it loads libfuse, whose absence was reported above

    rules, watch = Rules(asked.seed), Watch()
    filesystem = Filesystem(asked.backing, rules, watch)
    control = Control(asked.control, rules, watch)
    ready, failed = threading.Event(), threading.Event()

    def serve() -> None:
        try:
            fuse.serve(
                filesystem,
                asked.mount.absolute(),
                ready.set,
                allow_other=asked.allow_other,
                default_permissions=not asked.no_default_permissions,
                direct_io=asked.direct_io,
                entry_timeout=asked.entry_timeout,
                attr_timeout=asked.attr_timeout,
                negative_timeout=asked.negative_timeout,
            )
        except RuntimeError:
            failed.set()
        finally:
            # Mounted no more, by whomever.
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=serve, name="fuse", daemon=True).start()
    while not ready.wait(0.05) and not failed.is_set():
        pass
    if not failed.is_set():
        mounts.read_ahead(asked.mount)
        control.start()
    signal.sigwait(ENDS)
    control.close()
    rules.end()
    end = time.monotonic() + DRAIN_SECONDS
    while watch.under_way() and time.monotonic() < end:
        time.sleep(0.01)
    for mount in mounts.at(asked.mount):
        if mounts.server(mount) in (0, os.getpid()):
            mounts.detach(asked.mount)
    sys.stdout.flush()
    sys.stderr.flush()
    # libfuse joins its threads at its end, and one of them may be in a call of the backing filesystem.
    os._exit(1 if failed.is_set() else 0)


if __name__ == "__main__":
    sys.exit(main())
