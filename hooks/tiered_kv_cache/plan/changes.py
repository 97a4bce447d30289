"""What an install or upgrade would add, remove and change, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import names
from ..cluster import JsonObject
from ..findings import shorten
from .manifests import Key, key

ABSENT: Any = object()
SHOWN = 60


@dataclass(frozen=True)
class Field:
    """``path``: with names of list items where they have some; ``before`` and ``after``: as JSON, empty: not there."""

    path: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}: {_short(self.before)} -> {_short(self.after)}"


@dataclass(frozen=True)
class Change:
    """``what``: added, removed or changed; ``effect``: of a change, what it does to Pods and cache."""

    what: str
    key: Key
    fields: tuple[Field, ...] = ()
    effect: str = ""


def changes(before: Iterable[JsonObject], after: Iterable[JsonObject]) -> list[Change]:
    """In the order of the objects' keys. Equal objects are not named."""
    old, new = ({key(each): each for each in objects} for objects in (before, after))
    found = []
    for each in sorted(old.keys() | new.keys()):
        if each not in old:
            found.append(Change("added", each))
        elif each not in new:
            found.append(Change("removed", each))
        elif fields := tuple(_fields("", old[each], new[each])):
            found.append(Change("changed", each, fields, _effect(fields)))
    return found


def _effect(fields: tuple[Field, ...]) -> str:
    paths = [each.path for each in fields]
    # Of the chart's own Pods, and of endpoints, whose init container is told what was hashed.
    hashed = (f"template.metadata.annotations.{names.ANNOTATION_CONFIG_HASH}", f"[{names.ENV_L2_CONFIG}].value")
    if any(path.endswith(hashed) for path in paths):
        return "Pods are replaced, and their blocks on L2 are found by nobody any more (another fingerprint)"
    if any(path.startswith(("spec.template.", "spec.worker.", "spec.kubernetes.")) for path in paths):
        return "Pods are replaced"
    return ""


def _fields(path: str, old: Any, new: Any) -> Iterable[Field]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys(), key=str):
            yield from _fields(f"{path}.{name}" if path else str(name), old.get(name, ABSENT), new.get(name, ABSENT))
    elif (names_ := _named(old)) is not None and (others := _named(new)) is not None:
        for name in dict.fromkeys([*names_, *others]):
            yield from _fields(f"{path}[{name}]", names_.get(name, ABSENT), others.get(name, ABSENT))
        if [each for each in names_ if each in others] != [each for each in others if each in names_]:
            yield Field(f"{path} (order)", json.dumps(list(names_)), json.dumps(list(others)))
    elif old is ABSENT or new is ABSENT or type(old) is not type(new) or old != new:
        yield Field(path, _text(old), _text(new))


def _named(found: Any) -> dict[str, Any] | None:
    """Items by their names, of a list whose items all have one."""
    if not isinstance(found, list) or not found:
        return None
    by = {str(each["name"]): each for each in found if isinstance(each, dict) and "name" in each}
    return by if len(by) == len(found) else None


def _text(found: Any) -> str:
    return "" if found is ABSENT else json.dumps(found, sort_keys=True, default=str)


def _short(text: str) -> str:
    return shorten(text, SHOWN) or "nothing"
