"""Each key alone, with the values at the edges of what its schema allows, where the key matters: nothing is left to chance."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from chart.cases import CASES
from chart.helm import Json, model, overlay
from property import strategies
from property.checks import third_outcome
from property.renderer import Question, Renderer

MATTERS: dict[str, Json] = {
    "routing.prefix": overlay(model(routing={"strategy": "prefixaware"})),
    "routing.session": overlay(model(routing={"strategy": "session"})),
    "routing.circuitBreaker": overlay(model(routing={"circuitBreaker": {"enabled": True}})),
    "autoscaling.hpa": next(base for base in strategies.BASES if "hpa" in str(base)),
    "autoscaling": next(base for base in strategies.BASES if "prometheus" in str(base)),
    "source.huggingFace": next(base for base in strategies.BASES if "huggingFace" in str(base)),
    "source.s3": next(base for base in strategies.BASES if "download" not in str(base) and "bucket" in str(base)),
    "modelStore": next(base for base in strategies.BASES if "modelStore" in str(base)),
    "engine.gpuMemoryUtilization": overlay(model(**strategies.GPUS)),
    "gateway": overlay({"gateway": {"enabled": True}}),
    "apiKey": overlay({"apiKey": {"secretName": "a"}}),
    "cacheSalt": overlay({"cacheSalt": {"secretName": "a"}}),
    "l2.volume": overlay({"l2": {"volume": {"type": "hostPath", "hostPath": {"path": "/srv"}, "claimName": ""}}}),
    "hooks.aws": CASES["aws"],
    "curvine.client.csi": CASES["own-pool-by-csi"],
    "": overlay(),
}
"""Values under which a key is read, by its beginning below a model or the root; the first that fits."""


def edges(node: Json) -> Iterator[Any]:
    """Values at the edges of a subschema."""
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    if "enum" in node:
        yield from (each for each in node["enum"] if each is not None)
        return
    if "string" in kinds:
        yield from ("", "~", '"{{', "a\nb", "\u00e9", "x" * 300, "1e6", "0.5Gi", "2026")
    if "integer" in kinds or "number" in kinds:
        yield from (node.get("minimum", 0), node.get("maximum", 1_000_000), 1_000_000, 1)
    if "number" in kinds:
        yield from (1e-05, 0.1, 1_000_000.0, 1234567.5)
    if "boolean" in kinds:
        yield from (True, False)
    if "array" in kinds:
        yield []
        yield from ([item] for item in edges(strategies.resolve(node["items"])) if item is not None)
    if "object" in kinds:
        yield from _objects(node)
    if "null" in kinds:
        yield None


def _objects(node: Json) -> Iterator[Json]:
    """Objects with one property at an edge, beside those that must be there."""
    properties = {name: strategies.resolve(child) for name, child in node.get("properties", {}).items()}
    needed: Json = {name: strategies.HINTS.get(name, ("In",))[0] for name in node.get("required", ())}
    yield needed
    for name, child in properties.items():
        yield from ({**needed, name: value} for value in edges(child))


def _cases(place: strategies.Place) -> Iterator[Json]:
    below = ".".join(part for part in place.path if part not in ("models", "defaults", "*"))
    base = next(values for beginning, values in MATTERS.items() if below.startswith(beginning))
    path: list[str] = []
    for part in place.path:
        path.append(part if part != "*" else strategies.FREE_KEYS.get(path[-1], ("a",))[0])
    # What lies below a group is a place of its own.
    for value in ({}, None) if "properties" in place.node else edges(place.node):
        if strategies.allows(place.node, value):
            tree = copy.deepcopy(base)
            strategies.put(tree, tuple(path), value)
            yield tree


# Keys of a model have the schema of the defaults, and the defaults' are tried.
SCOPES = sorted({place.path[0] for place in strategies.PLACES} - {"models"})


@pytest.mark.parametrize("scope", SCOPES)
def test_edges_of_every_key(renderer: Renderer, scope: str) -> None:
    faults, tried = [], 0
    for place in strategies.PLACES:
        if place.path[0] == scope:
            for values in _cases(place):
                question = Question(values)
                tried += 1
                if fault := third_outcome(question, renderer.ask(question)):
                    faults.append(f"{'.'.join(place.path)}: {fault[:600]}\n    {values}")
    assert tried
    assert not faults, "\n".join(faults)
