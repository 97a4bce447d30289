"""Rendered manifests as plain objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from ..cluster import JsonObject
from ..findings import UsageError, shorten

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
HOOK = "helm.sh/hook"
FIX = "give what helm template prints"


@dataclass(frozen=True, order=True)
class Key:
    """What a cluster knows an object by; without the version, which a chart may raise."""

    kind: str
    group: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def read(text: str, source: str) -> list[JsonObject]:
    """All objects, lists opened. ``source``: for messages. Raises UsageError."""
    try:
        documents = [each for each in yaml.load_all(text, Loader=LOADER) if each is not None]
    except yaml.YAMLError as err:
        raise UsageError(f"{source} is not YAML: {shorten(str(err), 200)}. Fix: {FIX}") from err
    objects = [each for document in documents for each in _opened(document, source)]
    if not objects:
        raise UsageError(f"{source} holds no object. Fix: {FIX}, of values with a model, a pool or an L2 patch")
    return objects


def _opened(document: Any, source: str) -> Iterator[JsonObject]:
    if isinstance(document, dict) and document.get("kind") == "List":
        for each in document.get("items") or []:
            yield from _opened(each, source)
        return
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or not document.get("kind") or not metadata.get("name"):
        raise UsageError(f"{source} holds something that is no object: {shorten(str(document), 80)}. Fix: {FIX}")
    yield document


def key(found: JsonObject) -> Key:
    """Of an object."""
    metadata = found["metadata"]
    group = str(found.get("apiVersion") or "").rpartition("/")[0]
    return Key(str(found["kind"]), group, str(metadata.get("namespace") or ""), str(metadata["name"]))


def is_hook(found: JsonObject) -> bool:
    """Whether Helm runs it instead of keeping it."""
    return HOOK in (found["metadata"].get("annotations") or {})


def label(found: JsonObject, name: str) -> str:
    """Of the object itself; empty if it has none."""
    return str((found["metadata"].get("labels") or {}).get(name) or "")
