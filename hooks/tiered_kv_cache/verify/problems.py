"""Why a Pod is not Ready, from its status and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .. import names
from ..cluster import Cluster, JsonObject
from ..findings import Finding, shorten
from ..pods import Pod
from .config import ModelSpec

IMAGE_REASONS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
CONFIG_REASONS = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
MOUNT_EVENTS = ("FailedMount", "FailedAttachVolume")
ALWAYS_EVENTS = (*MOUNT_EVENTS, "FailedCreatePodSandBox", "Unhealthy")
"""Events that say more than the status does."""
EVENTS = (*ALWAYS_EVENTS, "FailedScheduling", "Failed")
CRASHES = 2
"""Restarts after which a container that ends is held for broken."""


@dataclass(frozen=True)
class Problem:
    """One reason. ``hopeless``: waiting does not mend it; it still gets a moment, since a registry may blink."""

    finding: Finding
    hopeless: bool = False
    short: str = ""


def of_status(model: ModelSpec, pod: Pod) -> list[Problem]:
    """All reasons that the status gives why ``pod`` is not Ready; empty when it is."""
    return [] if pod.ready else _Look(model, pod).all() or [_plain(model, pod)]


def in_detail(model: ModelSpec, pod: Pod, cluster: Cluster) -> list[Finding]:
    """As ``of_status``, and asks the API for events, claims and logs too."""
    if pod.ready:
        return []
    found = _Look(model, pod, cluster).all()
    found += _events(model, pod, cluster, known=bool(found))
    return [p.finding for p in found or [_plain(model, pod)]]


class _Look:
    """Reads one Pod's status; with a cluster, asks it for what the status leaves out."""

    def __init__(self, model: ModelSpec, pod: Pod, cluster: Cluster | None = None) -> None:
        self.model, self.pod, self.cluster = model, pod, cluster

    def all(self) -> list[Problem]:
        found = list(self._unschedulable())
        for status in self.pod.status.get("initContainerStatuses") or []:
            found += self._container(status, init=True)
        for status in self.pod.status.get("containerStatuses") or []:
            found += self._container(status, init=False)
        return found

    def _unschedulable(self) -> Iterator[Problem]:
        model, pod = self.model, self.pod
        scheduled = pod.condition("PodScheduled")
        if scheduled.get("status") != "False":
            return
        message = shorten(str(scheduled.get("message") or scheduled.get("reason") or "no reason given"), 300)
        if self.cluster:
            yield from self._claims(self.cluster)
        yield Problem(
            Finding(
                f"model {model.name}: Pod {pod.name} cannot be scheduled (Unschedulable): {message}",
                f"free or add nodes, lower models.{model.name}.replicas or .resources, or correct .nodeSelector and "
                ".tolerations",
            ),
            short="Unschedulable",
        )

    def _claims(self, cluster: Cluster) -> Iterator[Problem]:
        model, pod = self.model, self.pod
        for volume, claim in pod.claims.items():
            found = cluster.claim(pod.namespace, claim)
            phase = ((found or {}).get("status") or {}).get("phase")
            waits = f"model {model.name}: Pod {pod.name} waits for claim {claim} (volume {volume}), which"
            if found is None:
                is_l2 = volume == names.VOLUME_L2
                where = "l2.volume.claimName" if is_l2 else f"models.{model.name}.source.claim.name"
                fix = f"create PersistentVolumeClaim {claim} in namespace {pod.namespace}, or correct {where}"
                yield Problem(Finding(f"{waits} does not exist", fix))
            elif phase != "Bound":
                fix = "its StorageClass or PersistentVolume is missing: see its events"
                see = f"kubectl describe pvc -n {pod.namespace} {claim}"
                yield Problem(Finding(f"{waits} is {phase}", fix, (see,)))

    def _container(self, status: JsonObject, init: bool) -> Iterator[Problem]:
        model, pod, name = self.model, self.pod, str(status.get("name", ""))
        who = f"model {model.name}: Pod {pod.name}, {'init container' if init else 'container'} {name}"
        state = status.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        last = ended or (status.get("lastState") or {}).get("terminated") or {}
        reason, message = str(waiting.get("reason") or ""), shorten(str(waiting.get("message") or ""), 300)
        if reason in IMAGE_REASONS:
            spec = pod.containers.get(name)
            image = spec.image if spec else status.get("image")
            vllm = pod.containers.get(names.CONTAINER_VLLM)
            of_hooks = init and not (vllm and vllm.image == image)
            key = "hooks.image" if of_hooks else f"models.{model.name}.engine.image"
            fix = f"correct {key} (repository, tag, digest), give imagePullSecrets, or load it into node {pod.node}"
            what = f"{who}: image {image} cannot be pulled ({reason}): {message}"
            yield Problem(Finding(what, fix), hopeless=True, short=reason)
        elif reason in CONFIG_REASONS:
            fix, see = "see the Pod's events", (f"kubectl describe pod -n {pod.namespace} {pod.name}",)
            if "subPath" in message:
                fix = f"correct models.{model.name}.source.claim.subPath: the claim has no such folder, and it is mounted read-only"
            elif "secret" in message.lower():
                fix = (
                    "create the Secret with that key, or correct apiKey (the engines' API key) or "
                    f"models.{model.name}.source (token or credentials)"
                )
                see = (f"kubectl get secrets -n {pod.namespace}",)
            yield Problem(Finding(f"{who}: {reason}: {message}", fix, see), hopeless=True, short=reason)
        elif not status.get("ready") and last.get("exitCode") not in (None, 0):
            yield self._ended(status, last, who, init)
        elif "running" in state and not status.get("ready"):
            yield self._init_runs(name, who) if init else self._not_ready(name, who)

    def _ended(self, status: JsonObject, last: JsonObject, who: str, init: bool) -> Problem:
        model, pod, name = self.model, self.pod, str(status.get("name", ""))
        restarts = int(status.get("restartCount") or 0)
        # One that runs again may yet become ready.
        hopeless = restarts >= CRASHES and "running" not in (status.get("state") or {})
        is_lmcache = name == names.CONTAINER_LMCACHE
        down = " (the LMCache server is down)" if is_lmcache else ""
        if last.get("reason") == "OOMKilled":
            limit = f"models.{model.name}.resources.{'lmcache' if is_lmcache else 'engine'}.limits.memory"
            lower = "cache.l1.memory" if is_lmcache else "engine.maxModelLen or the size of the KV cache"
            finding = Finding(f"{who}: OOMKilled{down}, {restarts} restarts", f"raise {limit}, or lower {lower}")
            return Problem(finding, hopeless, short="OOMKilled")
        message = shorten(str(last.get("message") or ""), 600)
        if not message and self.cluster:
            previous = "terminated" not in (status.get("state") or {})
            message = shorten(self.cluster.log(pod.namespace, pod.name, name, previous=previous), 600)
        fix, see = "see its log", (f"kubectl logs -n {pod.namespace} {pod.name} -c {name} --previous",)
        if init and message:
            about = (
                f"l2.volume and models.{model.name}.source"
                if name == names.INIT_L2_ROOT
                else f"models.{model.name}.source"
            )
            fix = f"do what the message says; it is about {about}"
        code = last.get("exitCode")
        what = f"{who}: ended with exit code {code}{down}, {restarts} restarts: {message or 'no message'}"
        return Problem(Finding(what, fix, see), hopeless, short=f"{name} ended with exit code {code}")

    def _init_runs(self, name: str, who: str) -> Problem:
        logs = (f"kubectl logs -n {self.pod.namespace} {self.pod.name} -c {name} --tail=50",)
        fix = "see its log, which tells how far it is; if it only needs longer, raise hooks.verify.deadlineSeconds"
        if name == names.INIT_FETCH:
            fix += " and modelStore.deadlineSeconds"
        return Problem(Finding(f"{who} still runs, and the engine starts after it", fix, logs), short=f"{name} runs")

    def _not_ready(self, name: str, who: str) -> Problem:
        logs = (f"kubectl logs -n {self.pod.namespace} {self.pod.name} -c {name} --tail=50",)
        if name == names.CONTAINER_LMCACHE:
            what = f"{who} runs but is not ready: the LMCache server is down (its /healthcheck does not answer)"
            return Problem(Finding(what, "see its log", logs), short="LMCache down")
        longer = f"hooks.verify.deadlineSeconds and models.{self.model.name}.probes.startup.budget"
        what = f"{who} runs but is not ready: vLLM's /health does not answer yet"
        fix = f"see its log; if it only needs longer, raise {longer}"
        return Problem(Finding(what, fix, logs), short=f"{name} starting")


def _events(model: ModelSpec, pod: Pod, cluster: Cluster, known: bool) -> Iterator[Problem]:
    events = cluster.events(pod.namespace, f"involvedObject.kind=Pod,involvedObject.name={pod.name}")
    # One line a reason, the newest.
    newest = {str(e.get("reason")): e for e in events if e.get("type") == "Warning"}
    for reason, event in newest.items():
        if reason not in (ALWAYS_EVENTS if known else EVENTS):
            continue
        fix, see = "see the Pod's events", (f"kubectl describe pod -n {pod.namespace} {pod.name}",)
        if reason in MOUNT_EVENTS:
            fix = f"check the volume and its claim (l2.volume, models.{model.name}.source)"
        message = shorten(str(event.get("message") or ""), 300)
        yield Problem(Finding(f"model {model.name}: Pod {pod.name}: event {reason}: {message}", fix, see), short=reason)


def _plain(model: ModelSpec, pod: Pod) -> Problem:
    states = [
        f"{s.get('name')} {next(iter(s.get('state') or {'unknown': 0}))} {_waiting(s)}".strip()
        for key in ("initContainerStatuses", "containerStatuses")
        for s in pod.status.get(key) or []
        if not s.get("ready")
    ]
    short = ", ".join(states) or pod.phase or "no status yet"
    see = (f"kubectl describe pod -n {pod.namespace} {pod.name}",)
    what = f"model {model.name}: Pod {pod.name} is not Ready: {short}"
    fix = "see its events; if it only needs longer, raise hooks.verify.deadlineSeconds"
    return Problem(Finding(what, fix, see), short=short)


def _waiting(status: JsonObject) -> str:
    return str(((status.get("state") or {}).get("waiting") or {}).get("reason") or "")
