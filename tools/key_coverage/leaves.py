"""The keys of the values schema that hold a value: each of them once, below a model and below the defaults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from property.strategies import KUBERNETES, SCHEMA, resolve

Json = dict[str, Any]
ANY, FIRST = "*", "[]"
"""Parts of a path: a key of the user's own, and an element of a list."""


@dataclass(frozen=True)
class Leaf:
    """A key that holds a value, and its subschema."""

    path: tuple[str, ...]
    node: Json

    def __hash__(self) -> int:
        return hash(self.path)

    def __str__(self) -> str:
        return ".".join(self.path).replace(".[]", "[]")

    @property
    def name(self) -> str:
        """The last part that is no wildcard."""
        return next(part for part in reversed(self.path) if part not in (ANY, FIRST))


def _free(node: Json) -> list[Json]:
    """Subschemas of the keys that the user names."""
    extra = node.get("additionalProperties")
    return [*node.get("patternProperties", {}).values(), *([extra] if isinstance(extra, dict) else [])]


def leaves(node: Json = SCHEMA, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """All of them, in the schema's order.

    Structures of Kubernetes' own (affinity, an autoscaler's metrics) are one key each, and so are objects that are handed on as given.
    """
    node = resolve(node)
    whole = path and path[-1] in KUBERNETES and "hyperpod" not in path
    below = [] if whole else [*node.get("properties", {}).items(), *((ANY, each) for each in _free(node))]
    if not whole and "object" in resolve(node.get("items", {})).get("type", ()):
        below.append((FIRST, node["items"]))
    for name, child in below:
        yield from leaves(child, (*path, name))
    if path and not below:
        yield Leaf(path, node)
