"""Pods that manifests make: how many, and what each asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .. import names
from ..cluster import JsonObject
from ..preflight.amounts import Amounts, of_api, plus
from .manifests import is_hook, key, label

ENDPOINT = "InferenceEndpointConfig"
SCALERS = ("ScaledObject", "HorizontalPodAutoscaler")
INSTANCE_TYPE = "node.kubernetes.io/instance-type"


@dataclass(frozen=True)
class Workload:
    """``least`` to ``most`` Pods, and ``surge`` more while they are replaced; ``pod``: spec of one.

    ``l1``: of an endpoint, whether it has L1; ``each_node``: one on every node that it may run on, so that nobody knows how many.
    """

    kind: str
    name: str
    component: str
    model: str
    least: int
    most: int
    surge: int
    requests: Amounts
    limits: Amounts
    pod: JsonObject = field(repr=False)
    each_node: bool = False
    instance_types: tuple[str, ...] = ()
    l1: bool = False

    def asked(self, pods: int) -> Amounts:
        """Requests of so many Pods."""
        return plus({}, self.requests, pods)


def workloads(objects: Iterable[JsonObject]) -> list[Workload]:
    """All that stay; Jobs and test Pods come and go."""
    objects = list(objects)
    scaled = _scaled(objects)
    found = []
    for each in objects:
        if is_hook(each):
            continue
        if each["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
            found.append(_usual(each, scaled))
        elif each["kind"] == ENDPOINT:
            found.append(_endpoint(each))
    return found


def _scaled(objects: list[JsonObject]) -> dict[tuple[str, str], tuple[int, int]]:
    """Bounds by kind and name of what is scaled."""
    found = {}
    for each in objects:
        if each["kind"] not in SCALERS:
            continue
        spec = each["spec"]
        target = spec["scaleTargetRef"]
        least = spec.get("minReplicaCount", spec.get("minReplicas", 1))
        most = spec.get("maxReplicaCount", spec.get("maxReplicas", least))
        found[target.get("kind", "Deployment"), target["name"]] = (int(least), int(most))
    return found


def _usual(found: JsonObject, scaled: dict[tuple[str, str], tuple[int, int]]) -> Workload:
    kind, name, spec = found["kind"], key(found).name, found["spec"]
    replicas = int(spec.get("replicas", 1))
    least, most = scaled.get((kind, name), (replicas, replicas))
    # StatefulSets and DaemonSets replace a Pod where it was; a Deployment says itself.
    surge = _surge(spec.get("strategy") or {}, most) if kind == "Deployment" else 0
    pod = spec["template"]["spec"]
    requests, limits = of_api({"spec": pod})
    return Workload(
        kind, name, label(found, names.LABEL_COMPONENT), label(found, names.LABEL_MODEL), least, most, surge,
        requests, limits, pod, kind == "DaemonSet", _instance_types(pod),
    )  # fmt: skip


def _surge(strategy: JsonObject, replicas: int) -> int:
    if strategy.get("type") == "Recreate":
        return 0
    # Kubernetes' default is a quarter, rounded up.
    given = (strategy.get("rollingUpdate") or {}).get("maxSurge", "25%")
    return -(-replicas * int(given[:-1]) // 100) if isinstance(given, str) and given.endswith("%") else int(given)


def _endpoint(found: JsonObject) -> Workload:
    """Pods that AWS's operator makes: the worker, and what it adds to them is not known."""
    spec = found["spec"]
    worker, added = spec["worker"], spec.get("kubernetes") or {}
    pod = {
        "containers": [
            {**worker, "name": names.CONTAINER_VLLM, "env": worker.get("environmentVariables") or []},
            *(added.get("containers") or []),
        ],
        "initContainers": added.get("initContainers") or [],
    }
    scaling = spec.get("autoScalingSpec") or {}
    replicas = int(spec.get("replicas") or 1)
    least, most = int(scaling.get("minReplicaCount", replicas)), int(scaling.get("maxReplicaCount", replicas))
    requests, limits = of_api({"spec": pod})
    types = tuple(spec.get("instanceTypes") or ([spec["instanceType"]] if spec.get("instanceType") else []))
    # The operator's Deployment is taken to have Kubernetes' default, as preflight does (inferred: none was published).
    return Workload(
        ENDPOINT, key(found).name, label(found, names.LABEL_COMPONENT), label(found, names.LABEL_MODEL), least, most,
        max(1, _surge({}, most)), requests, limits, pod, instance_types=types,
        l1=bool((spec.get("kvCacheSpec") or {}).get("enableL1Cache")),
    )  # fmt: skip


def _instance_types(pod: JsonObject) -> tuple[str, ...]:
    """Those that the Pod asks for; none: any will do."""
    required = ((pod.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    wanted = [
        str(value)
        for term in required.get("nodeSelectorTerms") or []
        for each in term.get("matchExpressions") or []
        if each.get("key") == INSTANCE_TYPE and each.get("operator") == "In"
        for value in each.get("values") or []
    ]
    selected = (pod.get("nodeSelector") or {}).get(INSTANCE_TYPE)
    return tuple(dict.fromkeys(wanted + ([str(selected)] if selected else [])))
