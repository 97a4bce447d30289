"""Two values of a key that render differently.

The search begins where the key is likely to matter: with the sets of values of the tests that have most of its path, and
with those of contexts.yaml.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import yaml

from chart.helm import MINIMAL, merged
from property.renderer import Answer, Question
from property.strategies import BASES

from .candidates import candidates
from .leaves import FIRST, Json, Leaf, leaves
from .trees import ABSENT, changed, depth

TABLE: Json = yaml.safe_load(Path(__file__).with_name("contexts.yaml").read_text())
EXCEPTIONS: dict[str, str] = TABLE["exceptions"]
"""Keys without an effect, with the reason; at most five."""


class Renders(Protocol):
    """What answers a question: tests/property/renderer.py."""

    def ask(self, question: Question) -> Answer: ...


@dataclass(frozen=True)
class Effect:
    """Two values of a key, and the tree of values in which they differ."""

    leaf: Leaf
    one: Any
    other: Any
    tree: Json


@cache
def _contexts() -> list[Json]:
    return [merged(MINIMAL, *entry["values"]) if entry.get("minimal", True) else merged({}, *entry["values"]) for entry in TABLE["contexts"]]


def _bases(leaf: Leaf) -> Iterator[Json]:
    """Trees to begin with: those of which the key is spoken of in contexts.yaml, then by how much of its path they have."""
    text = str(leaf)
    for entry, tree in zip(TABLE["contexts"], _contexts(), strict=True):
        if any(text.endswith(key) for key in entry["keys"]):
            yield tree
    yield from sorted((*_contexts(), *BASES), key=lambda tree: -_depth(tree, leaf))


def _depth(tree: Json, leaf: Leaf) -> int:
    """Of the path in the tree. What a model has itself hides its default, so the same path below a model counts, too."""
    below = ("models", "*", *leaf.path[1:]) if leaf.path[0] == "defaults" else leaf.path
    return max(depth(tree, leaf.path), depth(tree, below) - 1)


def _without_own(tree: Json, leaf: Leaf) -> Json:
    """The tree in which no model hides this default."""
    if leaf.path[0] != "defaults":
        return tree
    for name in tree.get("models") or {}:
        if depth(tree, ("models", name, *leaf.path[1:])) == len(leaf.path) + 1:
            tree = changed(tree, ("models", name, *leaf.path[1:]), ABSENT, {})
    return tree


def effect(renderer: Renders, leaf: Leaf, most_bases: int = 200) -> Effect | None:
    """Two values of the key with which the chart renders, and renders something else; None if none were found.

    The key may also be absent in one of the two. What the chart refuses is no render.
    """
    values = [*TABLE["values"].get(str(leaf).partition(".")[2], TABLE["values"].get(str(leaf), [])), *candidates(leaf)]
    for number, base in enumerate(_bases(leaf)):
        if number >= most_bases:
            return None
        tree = _without_own(base, leaf)
        seen: tuple[Any, str] | None = None
        states = [ABSENT, *values] if leaf.path[-1] != FIRST else values
        own = _own(base, leaf)
        # The value that the tree renders with, first.
        for value in [*([own] if own is not ABSENT else []), *states]:
            answer = _render(renderer, changed(tree, leaf.path, value, TABLE["elements"]))
            if answer is None:
                continue
            if seen is None:
                seen = (value, answer)
            elif answer != seen[1]:
                return Effect(leaf, seen[0], value, tree)
    return None


def _own(tree: Json, leaf: Leaf) -> Any:
    """The value of the key in the tree, or of the first model if it is a default that this one hides."""
    for path in (leaf.path, ("models", "*", *leaf.path[1:]) if leaf.path[0] == "defaults" else leaf.path):
        if depth(tree, path) == len(path):
            place: Any = tree
            for part in path:
                place = place[0] if part == FIRST else place[next(iter(place)) if part == "*" else part]
            return place
    return ABSENT


_ANSWERS: dict[tuple[int, str], str | None] = {}


def _render(renderer: Renders, values: Json) -> str | None:
    """The manifests, or None where the chart refuses the values."""
    key = (id(renderer), json.dumps(values, sort_keys=True))
    if key not in _ANSWERS:
        answer = renderer.ask(Question(values))
        _ANSWERS[key] = None if answer.error else answer.manifests
    return _ANSWERS[key]


def uncovered(renderer: Renders, among: Iterable[Leaf] | None = None) -> list[Leaf]:
    """The keys whose effect was not seen, exceptions included."""
    return [leaf for leaf in among or leaves() if effect(renderer, leaf) is None]
