"""Pods that were made before the patch was there: which they are, how to replace them, and doing it.

One at a time, the next when the last one's successor is Ready: where replicas fill the GPUs a rolling update would start the new
Pod first, which never finds a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..cluster import ClusterError
from ..deadline import Deadline
from ..findings import Finding
from ..objects import Asking, Denied, Kind, Objects
from ..patch import names
from ..pods import Pod
from ..rows import FAIL, OK, WARN, Row
from .config import Place

PODS = Kind("v1", "pods")
POLL_SECONDS = 2.0
CHECK = "running Pods"
EXPECTED = "all of them patched"


@dataclass(frozen=True)
class Group:
    """The Pods of a model, whose Deployment has the same name."""

    place: Place
    app: str
    pods: tuple[Pod, ...]

    @property
    def unpatched(self) -> tuple[Pod, ...]:
        """Those that were made without the patch."""
        return tuple(pod for pod in self.pods if not patched(pod))

    @property
    def held(self) -> tuple[Pod, ...]:
        """Those of them that their own init container holds: they serve nobody, and never will."""
        return tuple(pod for pod in self.unpatched if names.INIT_ROOT in pod.containers and not pod.initialized)

    def commands(self) -> tuple[str, ...]:
        """Lines that replace them one after the other."""
        ready = f"kubectl -n {self.place.namespace} rollout status deployment/{self.app} --timeout=3600s"
        return tuple(f"kubectl -n {self.place.namespace} delete pod {pod.name} && {ready}" for pod in self.unpatched)


def patched(pod: Pod) -> bool:
    """Its annotation says so."""
    return pod.annotations.get(names.ANNOTATION) == names.VERSION


def groups(cluster: Asking, place: Place, deadline: Deadline) -> list[Group]:
    """The operator's Pods of the models that are patched, without those that end. Raises Denied, ClusterError, DeadlinePassed."""
    found = Objects(cluster, deadline).list(PODS, place.namespace, labelSelector="=".join(names.LABEL_OPERATOR))
    apps: dict[str, list[Pod]] = {}
    for raw in found:
        pod = Pod.parse(raw)
        app = pod.labels.get(names.LABEL_MODEL, "")
        # A Pod whose worker is not called as its label says is none of the patch's business.
        if app and place.opted(app) and not pod.finished and not pod.terminating:
            apps.setdefault(app, []).append(pod)
    return [Group(place, app, tuple(sorted(pods, key=lambda pod: pod.name))) for app, pods in sorted(apps.items())]


def rows(
    cluster: Asking, place: Place, deadline: Deadline, restart: bool, say: Callable[[str], None], *, proven: bool = True
) -> Iterator[Row]:
    """What runs unpatched. What serves is replaced with ``restart``, what cannot serve always; nothing unless ``proven``."""
    try:
        found = groups(cluster, place, deadline)
    except Denied as err:
        fix = f"install the chart's Role of this hook in namespace {place.namespace}, or use a kubeconfig that may"
        yield Row(CHECK, WARN, "not looked at", EXPECTED, Finding(f"{err}: Pods that run unpatched are not known", fix))
        return
    if not any(group.unpatched for group in found):
        yield Row(CHECK, OK, f"{place.namespace}: {sum(len(group.pods) for group in found)}, all patched", EXPECTED)
    for group in found:
        if not group.unpatched:
            continue
        if proven and group.held == group.unpatched:
            yield _replace_held(cluster, group, deadline, say)
        elif restart and proven:
            yield _restart(cluster, group, deadline, say)
        else:
            listed = ", ".join(pod.name for pod in group.unpatched)
            count = f"{len(group.unpatched)} of {len(group.pods)} Pods"
            what = f"{count} of {group.app} in namespace {place.namespace} run without the patch: {listed}"
            fix = "replace them one at a time (or set hooks.patchCheck.restart: true)"
            seen = f"{place.namespace}/{group.app}: {len(group.unpatched)} of {len(group.pods)} unpatched"
            yield Row(CHECK, WARN, seen, EXPECTED, Finding(what, fix, group.commands()))


def _replace_held(cluster: Asking, group: Group, deadline: Deadline, say: Callable[[str], None]) -> Row:
    """Pods that were made in the second in which policy or webhook came into force, as at a first install."""
    for pod in group.held:
        say(f"replacing Pod {pod.name} of {group.app}, which waits for the patch")
        if problem := _evict(cluster, group, pod, deadline):
            finding = Finding(problem, "mend what is in the way, then replace them", group.commands())
            return Row(CHECK, FAIL, f"{group.place.namespace}/{group.app}: not replaced", EXPECTED, finding)
    seen = f"{group.place.namespace}/{group.app}: {len(group.held)} replaced that were made before the patch"
    return Row(CHECK, OK, seen, EXPECTED)


def _restart(cluster: Asking, group: Group, deadline: Deadline, say: Callable[[str], None]) -> Row:
    wanted, total = len(group.pods), len(group.unpatched)
    for number, pod in enumerate(group.unpatched):
        say(f"replacing Pod {pod.name} of {group.app} ({number + 1} of {total})")
        problem = _evict(cluster, group, pod, deadline) or _await(cluster, group, pod, wanted, deadline)
        if problem:
            rest = Group(group.place, group.app, group.unpatched[number:])
            late = "a model that loads longer needs more of hooks.patchCheck.deadlineSeconds and of helm --timeout"
            fix = f"mend what is in the way, then replace the rest; {late}"
            seen = f"{group.place.namespace}/{group.app}: {number} of {total} replaced"
            return Row(CHECK, FAIL, seen, EXPECTED, Finding(problem, fix, rest.commands()))
    return Row(CHECK, OK, f"{group.place.namespace}/{group.app}: {total} replaced", EXPECTED)


def _evict(cluster: Asking, group: Group, pod: Pod, deadline: Deadline) -> str:
    """By eviction, so that a disruption budget is heard. What is wrong, or nothing."""
    namespace = group.place.namespace
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod.name, "namespace": namespace}}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod.name}/eviction"
    while True:
        try:
            cluster.ask("create pods/eviction", "POST", path, namespace, body=body)
            return ""
        except ClusterError as err:
            if err.status == 404:
                return ""
            if not err.passes or deadline.remaining() <= POLL_SECONDS:
                return f"Pod {pod.name} could not be evicted: {err.message or err}"
            deadline.sleep(POLL_SECONDS)


def _await(cluster: Asking, group: Group, old: Pod, wanted: int, deadline: Deadline) -> str:
    """Until as many as before are Ready without the old one, and the new ones patched. What is wrong, or nothing."""
    known = {pod.name for pod in group.pods}
    while True:
        try:
            found = groups(cluster, group.place, deadline.within(deadline.remaining()))
        except (Denied, ClusterError) as err:
            return f"after Pod {old.name} was evicted its successor could not be looked at: {err}"
        now = next((each.pods for each in found if each.app == group.app), ())
        bare = [pod.name for pod in now if pod.name not in known and not patched(pod)]
        if bare:
            return f"Pod {bare[0]}, made in place of {old.name}, is not patched either"
        ready = [pod for pod in now if pod.ready and pod.name != old.name]
        if len(ready) >= wanted:
            return ""
        if deadline.remaining() <= POLL_SECONDS:
            return (
                f"after Pod {old.name} was evicted only {len(ready)} of {wanted} Pods of {group.app} were Ready in time"
            )
        deadline.sleep(POLL_SECONDS)
