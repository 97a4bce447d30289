"""Values with a pool, and what to look for in what they render."""

from __future__ import annotations

import tomllib
from typing import Any

from chart.cases import POOL_VOLUME
from chart.helm import Json, Manifests
from chart.helm import container as container_of


def pool(**curvine: Any) -> Json:
    """A pool of the release's own, but for what is given of it."""
    disk = {"path": "/mnt/nvme", "size": "100Gi"}
    workers = curvine.pop("workers", {})
    return {
        "l2": {"volume": POOL_VOLUME},
        "curvine": {"workers": {"disk": disk, **workers}, **curvine},
    }


def spec(manifests: Manifests, kind: str, name: str) -> Json:
    """Of the Pods that an object makes."""
    found: Json = manifests.get(kind, name)["spec"]["template"]["spec"]
    return found


def container(pod: Json, name: str) -> Json:
    """One of a Pod's, by name."""
    return container_of({"spec": pod}, name)


def settings(manifests: Manifests, pod: Json) -> dict[str, Any]:
    """A component's configuration, as Curvine reads it."""
    (name,) = [v["configMap"]["name"] for v in pod["volumes"] if v["name"] == "config"]
    return tomllib.loads(manifests.get("ConfigMap", name)["data"]["curvine-cluster.toml"])


def pods(manifests: Manifests) -> dict[str, Json]:
    """Specs of Pods, and of those that Deployments make, by name."""
    return {
        each["metadata"]["name"]: each["spec"] if each["kind"] == "Pod" else each["spec"]["template"]["spec"]
        for each in manifests.objects
        if each["kind"] in ("Pod", "Deployment")
    }


def privileges(manifests: Manifests) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Containers that are privileged, and those that run as root without, with their capabilities. All others may gain nothing."""
    privileged, root = [], []
    for each in manifests.objects:
        pod = each.get("spec", {}).get("template", {}).get("spec") or (each["spec"] if each["kind"] == "Pod" else {})
        for one in [*pod.get("initContainers", []), *pod.get("containers", [])]:
            context = one["securityContext"]
            if context.get("privileged"):
                privileged.append(one["name"])
            else:
                assert context["allowPrivilegeEscalation"] is False
                assert context["capabilities"]["drop"] == ["ALL"]
                if context.get("runAsUser") == 0:
                    root.append((one["name"], context["capabilities"].get("add", [])))
    return privileged, root
