"""Wait until all Pods of a model are Ready; if they do not become so, say why."""

from __future__ import annotations

from .. import names
from ..findings import Finding, shorten
from ..pods import Pod
from . import problems, static
from .config import ModelSpec
from .context import Context

POLL_SECONDS = 2.0
PATIENCE_SECONDS = 60.0
"""How long a fault that waiting does not mend (an image that cannot be pulled) is watched before it counts."""
SAY_SECONDS = 30.0


def selector(release: str, model: ModelSpec) -> str:
    """Label selector of a model's engine Pods."""
    return ",".join(
        (
            f"{names.LABEL_INSTANCE}={release}",
            f"{names.LABEL_COMPONENT}={names.COMPONENT_ENGINE}",
            f"{names.LABEL_MODEL}={model.name}",
        )
    )


def list_pods(ctx: Context, model: ModelSpec) -> list[Pod]:
    """A model's Pods that count: neither terminating nor finished. Sorted by name."""
    return [p for p in _all_pods(ctx, model) if not p.terminating and not p.finished]


def rolling(pods: list[Pod]) -> bool:
    """Whether a rollout is going on: Pods of two ReplicaSets, and not all of them Ready."""
    return len({p.revision for p in pods if p.revision}) > 1 and not all(p.ready for p in pods)


def wait_ready(ctx: Context, model: ModelSpec) -> tuple[list[Pod], list[Finding]]:
    """Wait for ``model.replicas`` Ready Pods whose specs agree; returns the Pods, and why they are not, if so."""
    deadline = ctx.deadline
    hopeless_since: dict[str, float] = {}
    said, said_at = "", -SAY_SECONDS
    while True:
        pods = list_pods(ctx, model)
        if not rolling(pods):
            faults = static.check(model, pods)
            if faults:
                return pods, faults
            if len(pods) >= model.replicas and all(p.ready for p in pods):
                return pods, []
        found = {p.name: problems.of_status(model, p) for p in pods}
        line = _line(model, pods, found)
        now = deadline.elapsed()
        if line != said or now - said_at >= SAY_SECONDS:
            ctx.say(line)
            said, said_at = line, now
        hopeless = {p.name for p in pods if any(x.hopeless for x in found[p.name])}
        hopeless_since = {name: hopeless_since.get(name, now) for name in hopeless}
        lost = any(now - since >= PATIENCE_SECONDS for since in hopeless_since.values())
        if lost or deadline.passed():
            return pods, _findings(ctx, model, pods)
        deadline.sleep(POLL_SECONDS)


def _all_pods(ctx: Context, model: ModelSpec) -> list[Pod]:
    pods = [Pod.parse(raw) for raw in ctx.cluster.pods(ctx.namespace, selector(ctx.release, model))]
    return sorted(pods, key=lambda p: p.name)


def _line(model: ModelSpec, pods: list[Pod], found: dict[str, list[problems.Problem]]) -> str:
    ready = sum(p.ready for p in pods)
    reasons = [f"{name}: {shorten(x.short, 60)}" for name, xs in found.items() for x in xs[:1] if x.short]
    return f"{model.name}: {ready} of {model.replicas} Pods ready" + (f" ({'; '.join(reasons)})" if reasons else "")


def _findings(ctx: Context, model: ModelSpec, pods: list[Pod]) -> list[Finding]:
    """Every reason, after the overview."""
    ready = sum(p.ready for p in pods)
    passed = ctx.deadline.passed()
    when = f" when the deadline of {ctx.deadline.seconds:g} s passed" if passed else ""
    found = [
        Finding(
            f"model {model.name}: {ready} of {model.replicas} Pods are Ready{when} ({len(pods)} exist)",
            "see the reasons named beside this"
            if pods
            else f"see kubectl -n {ctx.namespace} get deployments,replicasets,events",
        )
    ]
    if rolling(pods):
        sets = ", ".join(sorted({p.revision for p in pods}))
        found.append(
            Finding(
                f"model {model.name}: a rollout is not finished: Pods of ReplicaSets {sets} run side by side",
                f"see kubectl -n {ctx.namespace} rollout status, then run helm test again",
            )
        )
        found += static.check(model, pods)
    for pod in pods:
        found += problems.in_detail(model, pod, ctx.cluster)
    if len(pods) < model.replicas:
        found += _not_created(ctx, model)
    return found


def _not_created(ctx: Context, model: ModelSpec) -> list[Finding]:
    """Pods that were never created (quota, admission) leave a trace in events of their ReplicaSet only."""
    events = ctx.cluster.events(ctx.namespace, "involvedObject.kind=ReplicaSet,reason=FailedCreate")
    found = []
    of_model = [e for e in events if f"{model.name}-engine" in str((e.get("involvedObject") or {}).get("name", ""))]
    if of_model:
        message = shorten(str(of_model[-1].get("message") or ""), 300)
        found.append(
            Finding(
                f"model {model.name}: Pods are not created: {message}",
                "raise the quota, or correct what the admission message names",
            )
        )
    for pod in [p for p in _all_pods(ctx, model) if p.finished][:3]:
        why = shorten(str(pod.status.get("message") or pod.status.get("reason") or "no reason given"), 200)
        found.append(
            Finding(
                f"model {model.name}: Pod {pod.name} is {pod.phase}: {why}",
                f"mend the cause, then kubectl -n {ctx.namespace} delete pod {pod.name}",
            )
        )
    return found
