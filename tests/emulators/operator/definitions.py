"""AWS's definitions, as an operator of a version would bring them."""

from __future__ import annotations

import copy
from typing import Any

from crds.endpoints import definition

from .names import PLURAL
from .options import Json

PLURALS = (PLURAL, "jumpstartmodels", "sagemakerendpointregistrations")
_ANY: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXTS: Json = {"type": "object", "additionalProperties": {"type": "string"}}
NEWER: list[tuple[tuple[int, int], str, Json]] = [
    ((3, 3), "loadBalancer.idleTimeoutSeconds", {"type": "integer", "minimum": 1, "maximum": 4000}),
    ((3, 6), "kubernetes.podTemplateAnnotations", _TEXTS),
    ((3, 7), "kubernetes.tolerations", {"type": "array", "items": _ANY}),
    ((3, 7), "kubernetes.priorityClassName", {"type": "string"}),
    (
        (3, 7),
        "kvCacheSpec.lmcache",
        {"type": "object", "properties": {"mode": {"type": "string", "enum": ["InProcess", "MultiProcess"]}}},
    ),
]
"""Since which version, where in `spec`, and what. The first two are read in AWS's notes, with their places; that the others are there
is as well, but their places are inferred."""


def definitions(version: str) -> list[Json]:
    """Every definition: those of v3.2 as they are, and the fields that a later version adds to the endpoints."""
    numbers = tuple(int(part) for part in version.split("."))
    found = [copy.deepcopy(definition(plural)) for plural in PLURALS]
    for each in found:
        if each["spec"]["names"]["plural"] != PLURAL:
            continue
        (stored,) = [one for one in each["spec"]["versions"] if one["name"] == "v1"]
        spec = stored["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for since, place, field in NEWER:
            if numbers >= since:
                *above, name = place.split(".")
                _at(spec, above)["properties"][name] = copy.deepcopy(field)
    return found


def _at(schema: Any, path: list[str]) -> Any:
    for name in path:
        schema = schema["properties"][name]
    return schema
