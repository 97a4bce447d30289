"""Two values of a key that render differently.

The search begins where the key is likely to matter: with the sets of values of the tests that have most of its path, and
with those of contexts.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import yaml

from chart.helm import MINIMAL, merged
from property.renderer import Answer, Question
from property.strategies import BASES

from .candidates import candidates
from .leaves import FIRST, Json, Leaf
from .trees import ABSENT, at, changed, depth

TABLE: Json = yaml.safe_load(Path(__file__).with_name("contexts.yaml").read_text())
EXCEPTIONS: dict[str, str] = TABLE["exceptions"]
"""Keys without an effect, with the reason; at most five."""


class Renders(Protocol):
    """What answers a question: tests/property/renderer.py."""

    def ask(self, question: Question) -> Answer: ...


@dataclass(frozen=True)
class Base:
    """Values to begin with, and what the cluster serves."""

    values: Json
    served: tuple[str, ...] = ()


@dataclass(frozen=True)
class Effect:
    """Two values of a key, and the values around it with which they differ."""

    leaf: Leaf
    one: Any
    other: Any
    base: Base


JUDGED: list[str] = TABLE["judged"]
"""Keys that only decide whether values are taken."""

SAME, REFUSED = 3, 10
"""So many renders without a difference, and so many refusals, and the search goes on with another base."""


@cache
def _contexts() -> list[tuple[list[str], Base]]:
    return [
        (entry["keys"], Base(merged(MINIMAL, *entry["values"]), tuple(entry.get("apiVersions", ()))))
        for entry in TABLE["contexts"]
    ]


def _bases(leaf: Leaf) -> Iterator[Base]:
    """Values to begin with: those of contexts.yaml for the key, then the tests' own by how much of its path they have."""
    yield from (base for keys, base in _contexts() if any(key in str(leaf) for key in keys))
    yield from sorted((Base(tree) for tree in BASES), key=lambda base: -_depth(base.values, leaf))


def _below_models(leaf: Leaf) -> tuple[str, ...]:
    """The path of a default as a model's own, which hides it; other paths as they are."""
    return ("models", "*", *leaf.path[1:]) if leaf.path[0] == "defaults" else leaf.path


def _depth(tree: Json, leaf: Leaf) -> int:
    return max(depth(tree, leaf.path), depth(tree, _below_models(leaf)) - 1)


def _without_own(tree: Json, leaf: Leaf) -> Json:
    """The tree in which no model hides this default; a list, which hides all of the default's, becomes the default."""
    if leaf.path[0] != "defaults":
        return tree
    path = leaf.path[: leaf.path.index(FIRST)] if FIRST in leaf.path else leaf.path
    for name in tree.get("models") or {}:
        own = ("models", name, *path[1:])
        if depth(tree, own) == len(own):
            if path != leaf.path:
                tree = changed(tree, path, at(tree, own), {})
            tree = changed(tree, own, ABSENT, {})
    return tree


def _own(tree: Json, leaf: Leaf) -> list[Any]:
    """The value of the key in the tree, if it has one; of the first model if it is a default that this one hides."""
    for path in (_below_models(leaf), leaf.path):
        if depth(tree, path) == len(path):
            return [at(tree, path)]
    return []


def _below(leaf: Leaf) -> str:
    """The key without what says whose it is."""
    return str(leaf).removeprefix("defaults.").removeprefix("models.*.")


def _paired(renderer: Renders, leaf: Leaf) -> Effect | None:
    """The effect of a key that contexts.yaml shows with what it needs beside it."""
    trees = [merged(MINIMAL, layer) for layer in TABLE["pairs"].get(_below(leaf), ())]
    answers = {renderer.ask(Question(tree)).manifests for tree in trees}
    if len(answers) < 2 or "" in answers:
        return None
    one, other = (at(tree, leaf.path if leaf.path[0] != "defaults" else _below_models(leaf)) for tree in trees)
    return Effect(leaf, one, other, Base(trees[0]))


def effect(renderer: Renders, leaf: Leaf, most_bases: int = 12) -> Effect | None:
    """Two values of the key with which the chart renders, and renders something else; None if none were found.

    The key may also be absent in one of the two. What the chart refuses is no render; only for a key that does nothing but judge
    (contexts.yaml) one of the two is refused, with a message that names the key.
    """
    if paired := _paired(renderer, leaf):
        return paired
    judged = _below(leaf) in JUDGED
    values = [*TABLE["values"].get(_below(leaf), ()), ABSENT, *candidates(leaf)]
    for base in islice(_bases(leaf), most_bases):
        tree, first, same, refused = _without_own(base.values, leaf), None, 0, list[Any]()
        for value in (*_own(base.values, leaf), *values):
            changes = changed(tree, leaf.path, value, TABLE["elements"], TABLE["names"])
            answer = renderer.ask(Question(changes, api_versions=base.served))
            if answer.error:
                if not judged or (leaf.name in answer.error and "   fix: " in answer.error):
                    refused.append(value)
            elif first is None:
                first = (value, answer.manifests)
            elif answer.manifests != first[1]:
                return Effect(leaf, first[0], value, base)
            else:
                same += 1
            if judged and first and refused:
                return Effect(leaf, refused[0], first[0], base)
            if same >= SAME or len(refused) >= REFUSED:
                break
    return None
