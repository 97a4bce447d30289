"""The verb ``verify`` from its arguments to its exit code's truth."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .. import names, told
from ..cluster import Cluster, ClusterError, KubernetesCluster, in_cluster
from ..deadline import Deadline
from ..findings import Finding, UsageError
from ..portforward import PortForward, kubernetes_dial
from . import config, jsonout, report
from .context import Context
from .reach import PodIp, Reach
from .result import Result
from .run import run


def main(args: argparse.Namespace) -> bool:
    """Run, print, write; True when everything passed. Raises UsageError."""
    settings = _only(config.parse(*told.text_of(args.config, names.ENV_VERIFY, "verify")), args.model)
    if args.deadline is not None and not args.deadline >= 1:
        raise UsageError(f"--deadline is {args.deadline:g}. Fix: give at least 1 second")
    deadline = Deadline(args.deadline if args.deadline is not None else settings.deadline_seconds)
    people = sys.stderr if args.json else sys.stdout

    def say(line: str) -> None:
        print(f"[{deadline.elapsed():6.1f} s] {line}", file=people, flush=True)

    try:
        cluster = KubernetesCluster.connect(args.kubeconfig, args.context)
        go_with_the_release(cluster, args.namespace, os.environ.get(names.ENV_POD_NAME, ""), say)
        way = reach(args, cluster)
        try:
            key = os.environ.get(names.ENV_API_KEY, "")
            result = run(Context(settings, cluster, way, args.namespace, args.release, deadline, say, key))
        finally:
            way.close()
    except ClusterError as err:
        result = Result(findings=[Finding(f"the cluster: {err}", err.fix)])
    report.print_result(result, people)
    if args.json:
        print(jsonout.full(result))
    if args.json_file:
        _write(args.json_file, jsonout.fitted(result))
    return result.ok


def go_with_the_release(cluster: Cluster, namespace: str, pod: str, say: Callable[[str], None]) -> None:
    """Give this Pod an owner that `helm uninstall` deletes.

    Helm leaves test Pods behind, and a finished Pod still holds its claim: uninstall would wait for the claim for ever.
    """
    if not pod:
        return
    try:
        cluster.adopt(namespace, pod)
    except ClusterError as err:
        say(f"warning: {err}. Before helm uninstall, run: kubectl delete pod -n {namespace} {pod}")


def _only(settings: config.Settings, wanted: list[str] | None) -> config.Settings:
    """The settings with only the models that are named; raises UsageError for names that there are not."""
    if not wanted:
        return settings
    known = [m.name for m in settings.models]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"--model {', '.join(unknown)}: no such model. Fix: give one of {', '.join(known) or 'none'}")
    return replace(settings, models=tuple(m for m in settings.models if m.name in wanted))


def reach(args: argparse.Namespace, cluster: KubernetesCluster) -> Reach:
    inside = in_cluster() and not args.kubeconfig and not args.context
    if args.via == "pod-ip" or (args.via == "auto" and inside):
        return PodIp()
    return PortForward(kubernetes_dial(cluster.api))


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as err:
        print(f"warning: {path} cannot be written: {err}", file=sys.stderr)
