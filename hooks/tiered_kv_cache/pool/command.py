"""The pool's init containers: arguments in, lines, or one message with all reasons, out."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import l2root
from ..deadline import Deadline
from ..findings import UsageError
from ..keeper import kube
from ..termination import refuse
from . import disk as disks
from . import master as masters
from .claims import Refused

DISK_SECONDS = 600.0
"""For all of pool-disk; a change of owner touches each file."""


def master(args: argparse.Namespace) -> int:
    """pool-master; leaves with 1 if this master must not start. Raises UsageError."""
    todo = masters.job(args.data, args.cluster_id, args.replicas, args.pod, args.namespace)
    api = kube.connect()
    if api is None:
        raise UsageError(
            "pool-master: this process runs in no cluster. Fix: run it in the master's Pod, with its ServiceAccount's token"
        )
    try:
        lines = masters.prepare(todo, api, Deadline(args.deadline), lambda line: _say("pool-master", line))
    except (Refused, l2root.L2RootError) as err:
        refuse("pool-master", str(err))
    for line in lines:
        _say("pool-master", line)
    return 0


def disk(args: argparse.Namespace) -> int:
    """pool-disk; leaves with 1 if the worker must not take this disk. Raises UsageError."""
    todo = disks.Job(
        Path(args.path), args.host_path, args.size, args.reserve, args.cluster_id, args.user, args.group,
        args.allow_root_disk, args.values_prefix,
    )  # fmt: skip
    disks.validate(todo)

    def work() -> list[str]:
        findings, lines = disks.check(todo)
        if findings:
            raise Refused(*findings)
        try:
            return [*lines, disks.make(todo)]
        except OSError as err:
            raise Refused(disks.failed(todo, err)) from err

    try:
        lines = l2root.within(
            DISK_SECONDS,
            work,
            f"the disk of {args.host_path} does not answer",
            "mend or replace the disk (dmesg on the node)",
        )
    except (Refused, l2root.L2RootError) as err:
        refuse("pool-disk", str(err))
    for line in lines:
        _say("pool-disk", line)
    return 0


def _say(verb: str, line: str) -> None:
    print(f"{verb}: {line}", flush=True)
