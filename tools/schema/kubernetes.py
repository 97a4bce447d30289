"""Kubernetes' own structures as definitions of our schema, so that a misspelt field of an affinity is refused with all else."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate

Node = dict[str, Any]

VERSION = "1.36"
# OpenAPI says these in prose only.
CHOICES = {
    "io.k8s.api.core.v1.NodeSelectorRequirement.operator": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement.operator": ["In", "NotIn", "Exists", "DoesNotExist"],
    "io.k8s.api.autoscaling.v2.MetricSpec.type": ["ContainerResource", "External", "Object", "Pods", "Resource"],
    "io.k8s.api.autoscaling.v2.MetricTarget.type": ["Utilization", "Value", "AverageValue"],
}
KEPT = ("type", "properties", "additionalProperties", "items", "required")


@cache
def _all() -> Node:
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"v{VERSION}.0-local-strict"
    definitions: Node = json.loads((folder / "_definitions.json").read_text())["$defs"]
    return definitions


def definitions(name: str) -> Node:
    """The structure of this name and all that it refers to, by name: types and fields, without prose.

    Args:
        name: as in Kubernetes' OpenAPI, such as io.k8s.api.core.v1.Affinity.
    """
    made: Node = {}
    _collect(name, made)
    return made


def _collect(name: str, made: Node) -> None:
    if name in made:
        return
    if name == "io.k8s.apimachinery.pkg.api.resource.Quantity":
        made[name] = {"type": ["string", "number", "null"]}
        return
    made[name] = {}
    made[name].update(_plain(_all()[name], name, made))


def _plain(node: Node, place: str, made: Node) -> Node:
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        _collect(name, made)
        return {"$ref": f"#/definitions/{name}"}
    plain = {key: node[key] for key in KEPT if key in node}
    if node.get("format") == "int32":
        plain |= {"minimum": -(2**31), "maximum": 2**31 - 1}
    if place in CHOICES:
        plain["enum"] = CHOICES[place]
    if "properties" in plain:
        plain["properties"] = {key: _plain(child, f"{place}.{key}", made) for key, child in plain["properties"].items()}
    for single in ("items", "additionalProperties"):
        if isinstance(plain.get(single), dict):
            plain[single] = _plain(plain[single], place, made)
    return plain
