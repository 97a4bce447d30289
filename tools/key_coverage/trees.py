"""A key of a tree of values: whether it is there, and a tree with another value in its place."""

from __future__ import annotations

import copy
from typing import Any, Final

from property.strategies import FREE_KEYS

from .leaves import ANY, FIRST, Json


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()


def _key(place: Any, path: tuple[str, ...], index: int, names: dict[str, str]) -> Any:
    """The key or index that a part of a path stands for; a key of the user's is the first that is there."""
    if path[index] == FIRST:
        return 0
    if path[index] != ANY:
        return path[index]
    if isinstance(place, dict) and place:
        return next(iter(place))
    return names.get(".".join(path[:index])) or FREE_KEYS.get(path[index - 1], ("a",))[0]


def depth(tree: Json, path: tuple[str, ...]) -> int:
    """How many parts of the path the tree has."""
    place: Any = tree
    for index in range(len(path)):
        key = _key(place, path, index, {})
        if isinstance(place, dict) and place.get(key) is not None:
            place = place[key]
        elif isinstance(place, list) and path[index] == FIRST and place:
            place = place[0]
        else:
            return index
    return len(path)


def at(tree: Json, path: tuple[str, ...]) -> Any:
    """The value at a path that the tree has."""
    place: Any = tree
    for index in range(len(path)):
        place = place[_key(place, path, index, {})]
    return place


def changed(
    tree: Json, path: tuple[str, ...], value: Any, elements: dict[str, Json], names: dict[str, str] | None = None
) -> Json:
    """A copy with this value at the path, or without the key; what is missing above it is made.

    Args:
        elements: an element for a list that has none yet, by the list's name.
        names: a key for a map that has none yet, by the map's path.
    """
    made = copy.deepcopy(tree)
    place: Any = made
    for index, part in enumerate(path):
        key = _key(place, path, index, names or {})
        if part == FIRST and not place:
            place.append(copy.deepcopy(elements.get(path[index - 1], {})))
        if index == len(path) - 1:
            if value is not ABSENT:
                place[key] = copy.deepcopy(value)
            elif isinstance(place, dict):
                place.pop(key, None)
            return made
        empty: Any = [] if path[index + 1] == FIRST else {}
        if isinstance(place, dict) and not isinstance(place.get(key), type(empty)):
            place[key] = empty
        place = place[key]
    return made
