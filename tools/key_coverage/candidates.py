"""Values to try for a key: what its schema and its prose say, and what tests/property takes for likely."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from property.strategies import HINTS, allows, resolve

from .leaves import Json, Leaf

NUMBERS = (
    1,
    2,
    3,
    5,
    16,
    30,
    31,
    64,
    90,
    96,
    128,
    256,
    300,
    600,
    1024,
    3600,
    8081,
    30090,
    100000,
    0,
    0.3,
    0.6,
    0.9,
    1.5,
    20.5,
)
TEXTS = (
    "changed",
    "a/b",
    "/srv/changed",
    "90s",
    "3Gi",
    "64Mi",
    "700m",
    "v9",
    "https://changed.example",
    "s3://changed/a",
    "0.32.0",
)
TEXT_OF_ANY = "changed"


def _examples(node: Json) -> Iterator[str]:
    """What the description gives as an example."""
    for found in re.findall(r"e\.g\. ([^\s,;)]+)", node.get("description", "")):
        yield found.rstrip(".")


def _scalars(node: Json, name: str) -> Iterator[Any]:
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    if "enum" in node:
        yield from node["enum"]
        return
    yield from HINTS.get(name, ())
    if "string" in kinds:
        yield from _examples(node)
        yield from TEXTS
    if "integer" in kinds or "number" in kinds:
        yield from (node[bound] for bound in ("minimum", "maximum") if bound in node)
        yield from NUMBERS
    if "boolean" in kinds:
        yield from (True, False)


def candidates(leaf: Leaf) -> list[Any]:
    """Different values that the schema allows for the key, likely ones first; none of them null."""
    node, found = leaf.node, list[Any]()
    if "array" in node.get("type", ()):
        found += [each for each in HINTS.get(leaf.name, ()) if isinstance(each, list)]
        items = list(_scalars(resolve(node["items"]), leaf.name))
        found += [
            [],
            *([each] for each in items),
            *([one, other] for one, other in pairwise(items)),
        ]
    elif "object" in node.get("type", ()) or "type" not in node:
        found += [*HINTS.get(leaf.name, ()), {TEXT_OF_ANY: 1}]
    else:
        found += _scalars(node, leaf.name)
    kept: list[Any] = []
    for each in found:
        if (
            each is not None
            and allows(node, each)
            and not any(each is one or (type(each) is type(one) and each == one) for one in kept)
        ):
            kept.append(each)
    return kept
