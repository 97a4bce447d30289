"""What a step would change, and configuration laid over configuration. Nothing here calls AWS."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import yaml

JsonObject = dict[str, Any]


class Unreadable(Exception):
    """A configuration that is there is no object in JSON or YAML. Nothing may be laid over it."""


@dataclass(frozen=True)
class Change:
    """One value. ``before``, ``after``: JSON, or None where there is no value."""

    key: str
    before: Any
    after: Any

    def to_json(self) -> JsonObject:
        """Plain JSON."""
        return {"key": self.key, "before": self.before, "after": self.after}

    def __str__(self) -> str:
        return f"{self.key}: {shown(self.before)} -> {shown(self.after)}"


@dataclass(frozen=True)
class Call:
    """A call that changes something. ``operation`` as AWS names it, e.g. UpdateCluster."""

    service: str
    operation: str
    parameters: JsonObject

    def to_json(self) -> JsonObject:
        """Plain JSON."""
        return {"service": self.service, "operation": self.operation, "parameters": self.parameters}


def shown(value: Any) -> str:
    """A value for people."""
    return "(none)" if value is None else value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def differences(before: Any, after: Any, key: str) -> list[Change]:
    """Every value below ``key`` that differs; lists count as one value."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: list[Change] = []
        for name in sorted(before.keys() | after.keys()):
            found += differences(before.get(name), after.get(name), f"{key}.{name}" if key else name)
        return found
    return (
        [] if before == after and isinstance(before, bool) == isinstance(after, bool) else [Change(key, before, after)]
    )


def laid_over(before: JsonObject, wanted: JsonObject) -> JsonObject:
    """``wanted`` over ``before``: objects merge, all else replaces, and what is only in ``before`` stays."""
    merged = copy.deepcopy(before)
    for key, value in wanted.items():
        inner = merged.get(key)
        if isinstance(value, dict) and isinstance(inner, dict):
            merged[key] = laid_over(inner, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def parsed(text: str | None) -> JsonObject:
    """An add-on's configurationValues, which EKS takes as JSON or YAML. Raises Unreadable."""
    try:
        found = yaml.safe_load(text or "")
    except yaml.YAMLError as err:
        raise Unreadable(str(err)) from err
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Unreadable(f"it is a {type(found).__name__}")
    return found
