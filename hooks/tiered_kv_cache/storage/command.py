"""The verb ``storage-check``: arguments in, a table, JSON and an exit code out. This process never touches the volume."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import NoReturn

from ..cluster import ClusterError, KubernetesCluster
from ..findings import Finding
from ..pool import mounts
from ..termination import leave_message
from . import report, worker
from .checks import FAIL, Check
from .job import Job, validate
from .result import Result

LEAST_SECONDS = 20.0
"""For the work, however late this Pod is."""


def main(args: argparse.Namespace) -> NoReturn:
    """Leaves with 0 if the engines can use the volume, with 1 if not. Raises UsageError."""
    job = validate(_job(args))
    began = time.monotonic()
    people = sys.stderr if args.json else sys.stdout

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {line}", file=people, flush=True)

    if job.namespace:
        age = _of_the_release(job, args.pod, say)
        job = dataclasses.replace(job, deadline=max(min(LEAST_SECONDS, job.deadline), job.deadline - age))
    if job.pool:
        say(f"waiting for the pool's mount at {job.directory}")
    if job.pool and not mounts.appears(job.directory, job.deadline):
        result = Result(job)
        result.add(job.index, _no_pool(job))
    else:
        mount = mounts.over(job.directory)
        job = dataclasses.replace(job, deadline=max(1.0, job.deadline - (time.monotonic() - began)))
        result = worker.work(job, args.silence, say)
        result.mounted = f"{mount.kind} ({mount.source})" if mount else ""
    result.seconds = time.monotonic() - began
    report.print_result(result, people)
    if args.json:
        print(json.dumps(result.to_json()), flush=True)
    leave_message(report.message(result))
    # Not by return: nothing may wait for a process that hangs.
    sys.stdout.flush()
    os._exit(0 if result.ok else 1)


def _job(args: argparse.Namespace) -> Job:
    return Job(
        directory=args.directory, line_of_business=args.line_of_business, release=args.release, run=args.run_id,
        index=args.index, node=args.node, volume_type=args.volume_type, size=args.size, quota=args.quota,
        block=args.block, pool=args.pool, load_base_ms=args.load_base_ms, load_ms_per_mib=args.load_ms_per_mib,
        lookup_ms=args.lookup_ms, deadline=args.deadline, patience=args.patience, seen=args.seen,
        namespace=args.namespace, job=args.job,
    )  # fmt: skip


def _of_the_release(job: Job, pod: str, say: worker.Say) -> float:
    """Let the Job go with the release; seconds for which this Pod has existed, since the Job's deadline counts them.

    Helm does not delete hooks when it uninstalls, and a finished Pod still holds its claim, which would never go.
    """
    try:
        cluster = KubernetesCluster.connect()
        cluster.adopt_job(job.namespace, job.job, pod)
        made = cluster.pod(job.namespace, pod)["metadata"]["creationTimestamp"]
    except (ClusterError, KeyError) as err:
        say(f"warning: {err}. Before helm uninstall, run: kubectl delete job -n {job.namespace} {job.job}")
        return 0.0
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(made)).total_seconds())


def _no_pool(job: Job) -> Check:
    what = f"the pool is not mounted at {job.directory} after {job.deadline:.0f} s"
    fix = (
        "see the pool's client Pod on this node, its masters and workers (docs/pool.md); where they only need longer, raise "
        "hooks.storageCheck.deadlineSeconds and helm --timeout, and run helm upgrade again"
    )
    return Check("answers", FAIL, "no mount", Finding(what, fix))
