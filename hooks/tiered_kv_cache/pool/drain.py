"""pool-drain: before a release with a pool is uninstalled, ends what uses the pool, then the mounts, the workers and the masters.

Helm deletes all at once: engines that end their last requests would wait for masters that are gone. Each part is deleted
only when the Pods of the one before are gone. Deleted objects are what Helm would delete next; a rollback makes them again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from .. import names
from ..cluster import ClusterError, JsonObject, KubernetesCluster
from ..deadline import Deadline
from ..findings import Finding, UsageError, shorten
from ..pods import Pod
from ..termination import leave_message

POLL_SECONDS = 1.0
RESERVE_SECONDS = 25.0
"""Kept for each later part."""
LATE_SECONDS = 30.0
"""Beyond a Pod's own time to end, after which it is stuck."""


class Api(Protocol):
    """What is asked of the cluster; all raise ClusterError."""

    def pods(self, namespace: str, selector: str) -> list[JsonObject]:
        """Pods that match a label selector."""
        ...

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Delete a controller and its Pods; False if it was gone."""
        ...

    def volumes(self) -> list[JsonObject]:
        """All PersistentVolumes."""
        ...


@dataclass(frozen=True)
class Part:
    """``kind``: of the objects; ``components``: labels of their Pods; ``title``: for people."""

    title: str
    kind: str
    objects: tuple[str, ...]
    components: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """``parts``: in their order; ``others``: directory of the nodes whose users are looked for, or nothing."""

    namespace: str
    release: str
    parts: tuple[Part, ...]
    others: str
    force: bool


@dataclass
class Result:
    """``done``: titles of parts that are gone; ``findings``: what is in the way; ``notes``: what still ends by itself."""

    done: list[str]
    notes: list[str]
    findings: list[Finding]
    force: bool

    @property
    def ok(self) -> bool:
        """Whether Helm may go on."""
        return self.force or not self.findings

    def lines(self) -> list[str]:
        """For people."""
        word = "forced" if self.findings and self.force else "refused" if self.findings else "done"
        return [
            f"pool-drain: {word}; gone: {', '.join(self.done) or 'nothing'}",
            *self.notes,
            *(str(finding) for finding in self.findings),
        ]

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        found = [{"what": finding.what, "fix": finding.fix} for finding in self.findings]
        return {"ok": self.ok, "gone": self.done, "notes": self.notes, "findings": found}


def main(args: argparse.Namespace) -> int:
    """Run and print; 0 if Helm may go on. Raises UsageError."""
    if not args.deadline >= 1:
        raise UsageError(f"--deadline is {args.deadline:g}. Fix: give at least 1 second")
    deadline = Deadline(args.deadline)
    people = sys.stderr if args.json else sys.stdout

    def say(line: str) -> None:
        print(f"[{deadline.elapsed():6.1f} s] {line}", file=people, flush=True)

    try:
        cluster = KubernetesCluster.connect(args.kubeconfig, args.context)
        result = drain(_job(args), cluster, deadline, say)
    except ClusterError as err:
        result = Result([], [], [Finding(str(err), err.fix)], args.force)
    for line in result.lines():
        print(line, file=people, flush=True)
    if args.json:
        print(json.dumps(result.to_json()))
    leave_message("\n".join(shorten(line, 400) for line in result.lines()[:6]))
    return 0 if result.ok else 1


def _job(args: argparse.Namespace) -> Job:
    parts = (
        Part("what uses the pool", "deployments", tuple(args.user), (names.COMPONENT_ENGINE, "keeper")),
        Part("mounts", "daemonsets", (args.client,), ("curvine-client",)),
        Part("workers", "daemonsets", (args.workers,), ("curvine-workers",)),
        Part("masters", "statefulsets", (args.masters,), ("curvine-masters",)),
    )
    return Job(args.namespace, args.release, parts, args.others or "", args.force)


def drain(todo: Job, api: Api, deadline: Deadline, say: Callable[[str], None]) -> Result:
    """End the parts one after the other; stops before the next one where one is stuck. Safe to run again."""
    result = Result([], [], [], todo.force)
    if todo.others:
        result.findings += _again(lambda: others(todo, api), deadline)
        if not result.ok:
            return result
    for number, part in enumerate(todo.parts):
        later = len(todo.parts) - number - 1
        say(f"ending {part.title}: {', '.join(part.objects) or 'nothing'}")
        for name in part.objects:
            _again(lambda: api.delete(part.kind, todo.namespace, name), deadline)  # noqa: B023
        left = _wait(todo, part, api, deadline, deadline.remaining() - later * RESERVE_SECONDS)
        ending, stuck = _sorted(left)
        result.notes += [f"still ends by itself, on node {pod.node}: Pod {pod.name} ({part.title})" for pod in ending]
        result.findings += [_stuck(todo, part, pod) for pod in stuck]
        if not result.ok:
            return result
        if not left:
            result.done.append(part.title)
    return result


def others(todo: Job, api: Api) -> list[Finding]:
    """Claims of other namespaces that are bound to a directory of this pool."""
    found = []
    for raw in api.volumes():
        spec = raw.get("spec") or {}
        path = str((spec.get("hostPath") or {}).get("path") or "")
        claim = spec.get("claimRef") or {}
        mine = claim.get("namespace") == todo.namespace and _release(raw) == todo.release
        bound = (raw.get("status") or {}).get("phase") == "Bound"
        if bound and not mine and f"{path}/".startswith(f"{todo.others}/"):
            who = f"release {_release(raw) or 'unknown'} in namespace {claim.get('namespace')}"
            what = f"{who} still uses this pool: claim {claim.get('name')}, part {path.rpartition('/')[2]}"
            fix = (
                f"uninstall it first, or move it to another volume; to take the pool away all the same: helm uninstall --no-hooks, or "
                f"curvine.teardown.force: true. To keep this one: helm rollback {todo.release} REVISION -n {todo.namespace}, "
                "the newest of helm history"
            )
            found.append(Finding(what, fix))
    return found


def _release(raw: JsonObject) -> str:
    return str(((raw.get("metadata") or {}).get("labels") or {}).get(names.LABEL_INSTANCE) or "")


def _wait(todo: Job, part: Part, api: Api, deadline: Deadline, seconds: float) -> list[Pod]:
    """Pods of a part that are there after so many seconds."""
    until = deadline.within(max(0.0, seconds))
    selector = f"{names.LABEL_INSTANCE}={todo.release},{names.LABEL_COMPONENT} in ({','.join(part.components)})"
    while True:
        found = [Pod.parse(raw) for raw in _again(lambda: api.pods(todo.namespace, selector), deadline)]
        left = [pod for pod in found if not pod.finished or pod.terminating]
        if not left or until.passed():
            return left
        until.sleep(POLL_SECONDS)


def _sorted(left: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
    """Those within their own time to end, and those that are stuck."""
    ending = [pod for pod in left if pod.terminating and pod.late(datetime.now(UTC)) < LATE_SECONDS]
    return ending, [pod for pod in left if pod not in ending]


def _stuck(todo: Job, part: Part, pod: Pod) -> Finding:
    node = pod.node or "no node"
    if not pod.terminating:
        what = f"Pod {pod.name} on node {node} ({part.title}) is not being deleted"
        return Finding(
            what, f"see what made it (kubectl -n {todo.namespace} describe pod {pod.name}), and uninstall again"
        )
    late = pod.late(datetime.now(UTC))
    held = f", held by finalizers {', '.join(pod.finalizers)}" if pod.finalizers else ""
    what = f"Pod {pod.name} on node {node} ({part.title}) does not end: {late:.0f} s beyond its time{held}"
    fix = (
        "remove what holds it" if held else "see the kubelet and mounts of that node (a mount that hangs: docs/pool.md)"
    )
    more = "then uninstall again; to go on all the same: helm uninstall --no-hooks, or curvine.teardown.force: true"
    return Finding(what, f"{fix}, {more}")


def _again(work: Callable[[], Any], deadline: Deadline) -> Any:
    """``work``, again while the API server does not answer. Raises ClusterError."""
    while True:
        try:
            return work()
        except ClusterError as err:
            if deadline.passed() or not err.passes:
                raise
            deadline.sleep(POLL_SECONDS)
