"""Nodes for the Pods: Ready, matching, tolerated, of one architecture, with room for all of them and for the next rollout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ... import names
from ...cluster import JsonObject
from ...objects import Denied
from ...rows import INFO, Row
from ..amounts import Amounts, needs, of_api, plus, shown
from ..config import Settings, Workload
from ..context import DAEMON_SETS, NODES, PODS, Context, fails, ok, warns
from ..placing import Node, counted, fit, lacks, refused, toleration_of
from ..versions import tag_of, version_of

ARCHITECTURE = "kubernetes.io/arch"
HEALTH = "sagemaker.amazonaws.com/node-health-status"
HEALTHY = "Schedulable"
COMPUTE = ("sagemaker.amazonaws.com/compute-type", "hyperpod")
CNI_LEAST = (1, 18, 3)
LOOK = "kubectl get nodes -L node.kubernetes.io/instance-type,kubernetes.io/arch"
TAINTS = "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints"


def placement(context: Context) -> Iterator[Row]:
    """For each workload: nodes that it may run on, and room for it."""
    nodes = [Node.parse(raw) for raw in context.objects.list(NODES)]
    if not nodes:
        yield fails(
            "nodes", "none", "nodes", "the cluster has no nodes", "add some, or see hooks.preflight.tolerate", LOOK
        )
        return
    used = _used(context)
    for workload in context.settings.workloads:
        yield from _place(workload, nodes, used)


def _place(workload: Workload, nodes: Sequence[Node], used: dict[str, Amounts] | None) -> Iterator[Row]:
    reasons = {node.name: refused(node, workload) for node in nodes}
    suitable = [node for node in nodes if not reasons[node.name]]
    need, _ = needs(workload)
    one = ", ".join(shown(name, value) for name, value in sorted(need.items()) if value > 0)
    expected = f"{workload.name}: {workload.replicas} Pods" + (
        f" and {workload.surge} more in a rollout" if workload.surge else ""
    )
    expected += f", each {one}" if one else ""
    if not suitable:
        yield _nowhere(workload, nodes, reasons, expected)
        return
    yield from _architectures(workload, suitable)
    room = sum(fit(node.room, need) for node in suitable)
    seen = f"{len(suitable)} of {len(nodes)} nodes, room for {room} Pods"
    if room < workload.replicas:
        yield _too_small(workload, suitable, need, seen, expected)
        return
    if workload.crossNode and workload.replicas > 1 and len([node for node in suitable if fit(node.room, need)]) < 2:
        what = f"{workload.key}: only one node takes its Pods: the loss of that node takes all, and no hit from another node can be proven"
        yield warns("nodes", seen, "2 nodes or more", what, "add a node", LOOK)
    if room < workload.replicas + workload.surge:
        yield warns(
            "nodes",
            seen,
            expected,
            f"{workload.key}: the Pods fit, but not the {workload.surge} more that a rollout starts before it ends "
            "old ones: it would wait for ever",
            f"set {workload.key}.rollout: {{maxSurge: 0, maxUnavailable: 1}}, or add a node",
        )
        return
    if used is not None:
        free = sum(fit(plus(node.room, used.get(node.name, {}), -1), need) for node in suitable)
        if free < workload.replicas:
            held = f"others' Pods hold the rest of the {len(suitable)} nodes that match"
            what = f"{workload.key}: {free} of {workload.replicas} Pods would fit now; {held}"
            yield warns(
                "nodes",
                f"{seen}, {free} now",
                expected,
                what,
                "end what is not needed, or add nodes; without either the Pods stay Pending",
                "kubectl describe nodes | grep -A8 'Allocated resources'",
            )
            return
    yield ok("nodes", seen, expected)


def _nowhere(workload: Workload, nodes: Sequence[Node], reasons: dict[str, str], expected: str) -> Row:
    why = counted(reasons.values())
    tainted = {reason.removeprefix("tainted ") for reason in reasons.values() if reason.startswith("tainted ")}
    fix = "add such nodes, or change nodeSelector, instanceTypes or tolerations"
    if len(tainted) == 1 and all(each in ("not Ready", f"tainted {next(iter(tainted))}") for each in reasons.values()):
        fix = f"tolerate the taint: defaults.tolerations: [{toleration_of(next(iter(tainted)))}]"
    what = f"{workload.key}: no node takes a Pod of {workload.name}: of {len(nodes)} nodes {why}"
    return fails("nodes", f"0 of {len(nodes)} nodes: {why}", expected, what, fix, LOOK, TAINTS)


def _too_small(workload: Workload, suitable: Sequence[Node], need: Amounts, seen: str, expected: str) -> Row:
    missing = [lacks(node.room, need) for node in suitable]
    devices = sorted({name for each in missing for name in each if "/" in name})
    room = sum(fit(node.room, need) for node in suitable)
    fix = "add nodes, or lower replicas or resources"
    if (
        room == 0
        and devices
        and all(set(devices) <= set(each) for each in missing)
        and not any(node.room.get(name, 0) for node in suitable for name in devices)
    ):
        fix = f"no node that matches offers {', '.join(devices)}: see whether its device plugin runs there"
    short = counted(f"too little {', '.join(each)}" for each in missing if each)
    match = f"the {len(suitable)} nodes that match have room for {room} even when empty"
    what = f"{workload.key}: {workload.replicas} Pods of {workload.name} are wanted, and {match}"
    what += f" ({short})" if short else ""
    return fails(
        "nodes",
        seen,
        expected,
        what,
        fix,
        LOOK,
        "kubectl get nodes -o custom-columns=NAME:.metadata.name,ROOM:.status.allocatable",
    )


def _architectures(workload: Workload, suitable: Sequence[Node]) -> Iterator[Row]:
    found = sorted({node.labels.get(ARCHITECTURE, "unknown") for node in suitable})
    if len(found) > 1:
        yield warns(
            "architecture",
            f"{workload.name}: {', '.join(found)}",
            "one, that of the images",
            f"{workload.key}: nodes of {' and '.join(found)} match; an image of one does not start on the other",
            f"name one where an image has only one: {workload.key}.nodeSelector: {{{ARCHITECTURE}: {found[0]}}}",
            LOOK,
        )


def _used(context: Context) -> dict[str, Amounts] | None:
    """By node, what Pods of others ask for; None if Pods may not be read."""
    try:
        pods = context.objects.list(PODS)
    except Denied:
        return None
    used: dict[str, Amounts] = {}
    for raw in pods:
        node = str((raw.get("spec") or {}).get("nodeName") or "")
        if node and not _finished(raw) and not ours(raw, context.settings):
            used[node] = plus(plus(used.get(node, {}), of_api(raw)[0]), {"pods": 1})  # type: ignore[dict-item]
    return used


def _finished(raw: JsonObject) -> bool:
    return (raw.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def ours(raw: JsonObject, settings: Settings) -> bool:
    """A Pod that belongs to the release, or that the operator made for it: an upgrade replaces it."""
    meta = raw.get("metadata") or {}
    labels = meta.get("labels") or {}
    if meta.get("namespace") != settings.namespace:
        return False
    models = {workload.name for workload in settings.workloads}
    return labels.get(names.LABEL_INSTANCE) == settings.instance or (settings.hyperpod and labels.get("app") in models)


def health(context: Context) -> Iterator[Row]:
    """HyperPod's own word on its nodes, which its scheduler follows."""
    if not context.settings.hyperpod:
        return
    nodes = context.objects.list(NODES)
    labels = {raw["metadata"]["name"]: raw["metadata"].get("labels") or {} for raw in nodes}
    managed = {name: each for name, each in labels.items() if each.get(COMPUTE[0]) == COMPUTE[1]}
    sick = {name: each[HEALTH] for name, each in managed.items() if each.get(HEALTH, HEALTHY) != HEALTHY}
    seen = f"{len(managed) - len(sick)} of {len(managed)} healthy"
    if not sick:
        yield Row("node health", INFO if not managed else "ok", seen, f"{HEALTH}={HEALTHY}")
        return
    listed = ", ".join(f"{name}: {status}" for name, status in sorted(sick.items())[:5])
    yield warns(
        "node health",
        seen,
        f"{HEALTH}={HEALTHY}",
        f"HyperPod says of {len(sick)} nodes that they are not healthy ({listed})",
        "wait for their recovery, or replace them",
        f"kubectl get nodes -L {HEALTH}",
    )


def network(context: Context) -> Iterator[Row]:
    """AWS asks for a newer VPC CNI than old clusters have."""
    if not context.settings.hyperpod:
        return
    expected = f"aws-node >= {'.'.join(map(str, CNI_LEAST))}"
    found = context.objects.get(DAEMON_SETS, "aws-node", "kube-system")
    if found is None:
        yield Row("VPC CNI", INFO, "no DaemonSet kube-system/aws-node", expected)
        return
    containers = found["spec"]["template"]["spec"].get("containers") or []
    tag = next((tag_of(str(each.get("image"))) for each in containers if each.get("name") == "aws-node"), "")
    if version_of(tag) and version_of(tag) < CNI_LEAST:
        yield warns(
            "VPC CNI",
            tag,
            expected,
            f"the VPC CNI is {tag}; AWS's tiered storage asks for 1.18.3 or newer",
            "update the add-on",
            "aws eks update-addon --cluster-name <cluster> --addon-name vpc-cni --addon-version <version>",
        )
    else:
        yield ok("VPC CNI", tag or "of unknown version", expected)
