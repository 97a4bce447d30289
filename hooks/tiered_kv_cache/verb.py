"""What verbs that print rows have in common: the deadline, the way into the cluster, table, JSON, message and exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from .cluster import ClusterError, KubernetesCluster
from .deadline import Deadline
from .findings import Finding, UsageError
from .rows import FAIL, Row, good, message, print_rows, to_json
from .termination import leave_message

Say = Callable[[str], None]


def run_verb(verb: str, args: argparse.Namespace, work: Callable[[KubernetesCluster, Deadline, Say], list[Row]]) -> int:
    """Connect, ``work``, print; 0 if no row fails, else 1. ``args``: deadline, json, kubeconfig, context. Raises UsageError."""
    if not args.deadline >= 1:
        raise UsageError(f"--deadline is {args.deadline:g}. Fix: give at least 1 second")
    deadline = Deadline(args.deadline)
    people = sys.stderr if args.json else sys.stdout

    def say(line: str) -> None:
        print(f"[{deadline.elapsed():6.1f} s] {line}", file=people, flush=True)

    try:
        rows = work(KubernetesCluster.connect(args.kubeconfig, args.context), deadline, say)
    except ClusterError as err:
        rows = [Row("cluster", FAIL, "no answer", "an API server", Finding(str(err), err.fix))]
    seconds = deadline.elapsed()
    print_rows(verb, rows, seconds, people)
    if args.json:
        print(json.dumps(to_json(verb, rows, seconds), indent=2), flush=True)
    # helm shows neither log nor table of a failed hook; kubectl describe shows this.
    leave_message(message(verb, rows, seconds))
    return 0 if good(rows) else 1
