"""Wait until the Pods of all models are Ready, side by side; if some do not become so, say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import names
from ..findings import Finding, shorten
from ..pods import Pod
from . import problems, static
from .config import ModelSpec
from .context import Context

POLL_SECONDS = 2.0
PATIENCE_SECONDS = 60.0
"""How long a fault that waiting does not mend (an image that cannot be pulled) is watched before it counts, and a second
Pod of an autoscaled model that is on its way is waited for."""
SAY_SECONDS = 30.0


def selector(release: str) -> str:
    """Label selector of the engine Pods of a release."""
    return f"{names.LABEL_INSTANCE}={release},{names.LABEL_COMPONENT}={names.COMPONENT_ENGINE}"


def all_pods(ctx: Context) -> list[Pod]:
    """Every engine Pod of the release, by one call, sorted by name."""
    pods = [Pod.parse(raw) for raw in ctx.cluster.pods(ctx.namespace, selector(ctx.release))]
    return sorted(pods, key=lambda p: p.name)


def of_model(model: ModelSpec, pods: Sequence[Pod]) -> list[Pod]:
    """A model's Pods that count: neither terminating nor finished."""
    return [p for p in pods if p.labels.get(names.LABEL_MODEL) == model.name and not p.terminating and not p.finished]


def rolling(pods: list[Pod]) -> bool:
    """Whether a rollout is going on: Pods of two ReplicaSets, and not all of them Ready."""
    return len({p.revision for p in pods if p.revision}) > 1 and not all(p.ready for p in pods)


@dataclass
class Watch:
    """What is known of one model's Pods while they are waited for."""

    ctx: Context
    model: ModelSpec
    pods: list[Pod] = field(default_factory=list)
    _hopeless_since: dict[str, float] = field(default_factory=dict)
    _said: str = ""
    _said_at: float = -SAY_SECONDS
    _enough_since: float | None = None

    def look(self, release: Sequence[Pod]) -> list[Finding] | None:
        """Look at the release's Pods. None: not Ready yet. Else ``pods`` are those to measure, or the faults say why not."""
        self.pods = of_model(self.model, release)
        if not rolling(self.pods):
            faults = static.check(self.model, self.pods)
            if faults:
                return faults
            if self._ready():
                return []
        found = {p.name: problems.of_status(self.model, p) for p in self.pods}
        now = self.ctx.deadline.elapsed()
        self._say(found, now)
        hopeless = {p.name for p in self.pods if any(x.hopeless for x in found[p.name])}
        self._hopeless_since = {name: self._hopeless_since.get(name, now) for name in hopeless}
        lost = any(now - since >= PATIENCE_SECONDS for since in self._hopeless_since.values())
        return self.why_not(release) if lost or self.ctx.deadline.passed() else None

    def _ready(self) -> bool:
        """Whether there is enough to measure; for an autoscaled model, ``pods`` becomes the Ready ones."""
        if self.model.replicas is not None:
            return len(self.pods) >= self.model.replicas and all(p.ready for p in self.pods)
        ready = [p for p in self.pods if p.ready]
        if len(ready) < self.model.min_replicas or (self.pods and not ready):
            self._enough_since = None
            return False
        now = self.ctx.deadline.elapsed()
        self._enough_since = now if self._enough_since is None else self._enough_since
        # One would do, but two prove more, and the next may be starting.
        if len(ready) == 1 < len(self.pods) and now - self._enough_since < PATIENCE_SECONDS:
            return False
        self.pods = ready
        return True

    def _say(self, found: dict[str, list[problems.Problem]], now: float) -> None:
        ready = sum(p.ready for p in self.pods)
        reasons = [f"{name}: {shorten(x.short, 60)}" for name, xs in found.items() for x in xs[:1] if x.short]
        line = f"{self.model.name}: {ready} of {self._wanted()} Pods ready"
        line += f" ({'; '.join(reasons)})" if reasons else ""
        if line != self._said or now - self._said_at >= SAY_SECONDS:
            self.ctx.say(line)
            self._said, self._said_at = line, now

    def _wanted(self) -> str:
        return str(self.model.replicas) if self.model.replicas is not None else f"{len(self.pods)} (autoscaled)"

    def why_not(self, release: Sequence[Pod]) -> list[Finding]:
        """Every reason, after the overview."""
        ctx, model, pods = self.ctx, self.model, self.pods
        ready = sum(p.ready for p in pods)
        passed = ctx.deadline.passed()
        when = f" when the deadline of {ctx.deadline.seconds:g} s passed" if passed else ""
        found = [
            Finding(
                f"model {model.name}: {ready} of {self._wanted()} Pods are Ready{when} ({len(pods)} exist)",
                "see the reasons below" if pods else "see why the Deployment makes none",
                () if pods else (f"kubectl describe -n {ctx.namespace} deployment/{model.deployment}",),
            )
        ]
        if rolling(pods):
            sets = ", ".join(sorted({p.revision for p in pods}))
            found.append(
                Finding(
                    f"model {model.name}: a rollout is not finished: Pods of ReplicaSets {sets} run side by side",
                    "wait for its end, then run helm test again",
                    (f"kubectl rollout status -n {ctx.namespace} deployment/{model.deployment}",),
                )
            )
            found += static.check(model, pods)
        for pod in pods:
            found += problems.in_detail(model, pod, ctx.cluster)
        if len(pods) < (model.replicas or model.min_replicas):
            found += self._not_created(release)
        return found

    def _not_created(self, release: Sequence[Pod]) -> list[Finding]:
        """Pods that were never created (quota, admission) leave a trace in events of their ReplicaSet only."""
        ctx, model = self.ctx, self.model
        events = ctx.cluster.events(ctx.namespace, "involvedObject.kind=ReplicaSet,reason=FailedCreate")
        found = []
        # A ReplicaSet is called <Deployment>-<hash>; other releases of the namespace have other Deployments.
        of_model = [
            e
            for e in events
            if str((e.get("involvedObject") or {}).get("name", "")).rpartition("-")[0] == model.deployment
        ]
        if of_model:
            message = shorten(str(of_model[-1].get("message") or ""), 300)
            found.append(
                Finding(
                    f"model {model.name}: Pods are not created: {message}",
                    "raise the quota, or correct what the admission message names",
                    (f"kubectl get resourcequota,limitrange -n {ctx.namespace}",) if "quota" in message else (),
                )
            )
        ended = [p for p in release if p.labels.get(names.LABEL_MODEL) == model.name and p.finished]
        for pod in ended[:3]:
            why = shorten(str(pod.status.get("message") or pod.status.get("reason") or "no reason given"), 200)
            found.append(
                Finding(
                    f"model {model.name}: Pod {pod.name} is {pod.phase}: {why}",
                    "mend the cause, then delete the Pod",
                    (f"kubectl delete pod -n {ctx.namespace} {pod.name}",),
                )
            )
        return found
