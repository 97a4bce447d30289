"""Judges an InferenceEndpointConfig by AWS's own definition."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

Json = dict[str, Any]
FOLDER = Path(__file__).parent
GROUP = "inference.sagemaker.aws.amazon.com"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def definition(plural: str = "inferenceendpointconfigs") -> Json:
    """A CustomResourceDefinition of AWS's. Renders share it: read only."""
    found = yaml.load((FOLDER / f"{GROUP}_{plural}.yaml").read_text(), Loader=_LOADER)
    assert isinstance(found, dict)
    return found


def strict(schema: Json) -> Json:
    """A copy of a schema that refuses the fields which an API server would silently drop."""
    closed = copy.deepcopy(schema)
    _close(closed)
    return closed


def _close(node: Json) -> None:
    if "properties" in node and not node.get("x-kubernetes-preserve-unknown-fields"):
        node.setdefault("additionalProperties", False)
    for child in _children(node):
        _close(child)


def _children(node: Json) -> Iterator[Json]:
    yield from node.get("properties", {}).values()
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield node[key]


@cache
def _validator() -> jsonschema.Draft7Validator:
    (version,) = [each for each in definition()["spec"]["versions"] if each["name"] == "v1"]
    schema = strict(version["schema"]["openAPIV3Schema"])
    # Of metadata a definition says nothing; an API server knows it by itself.
    schema["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft7Validator(schema)


NEWER = (
    "kubernetes.podTemplateAnnotations",
    "kubernetes.tolerations",
    "kubernetes.priorityClassName",
    "kvCacheSpec.lmcache",
    "loadBalancer.idleTimeoutSeconds",
)
"""Fields of operators after 3.2, whose definition is not here; where they stand is inferred, but for the last one."""


def without_newer(endpoint: Json) -> Json:
    """A copy that has only what operator 3.2 knows."""
    kept = copy.deepcopy(endpoint)
    for path in NEWER:
        section, field = path.split(".")
        kept["spec"].get(section, {}).pop(field, None)
    return kept


def endpoint_faults(endpoint: Json) -> list[str]:
    """What the definition of operator 3.2 has against an InferenceEndpointConfig, fields of newer ones left out."""
    return [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message}"
        for error in _validator().iter_errors(without_newer(endpoint))
    ]
