"""What patch-check is told: the namespaces and models that are patched, as in the parameter object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..cluster import JsonObject
from ..findings import UsageError
from ..told import read

ALL = "*"
FIX = "use a chart and a hooks image of the same version"


@dataclass(frozen=True)
class Model:
    """``name``: of its InferenceEndpointConfig. ``root``, ``image``: of one whose Pods have no ``tkc-l2-root``.

    ``hashSeed``: what its Pods get where they have none; empty: nothing.
    """

    name: str
    hashSeed: str
    root: str = ""
    image: str = ""


@dataclass(frozen=True)
class Place:
    """A namespace whose Pods are patched. ``every``: whatever model; then ``models`` may be empty.

    ``adapter``: of multi-process mode; ``resources``: of the Pods that are tried, since a quota may ask for them.
    """

    namespace: str
    claim: str
    mountPath: str
    hashSeed: str
    models: tuple[Model, ...]
    every: bool = False
    adapter: str = "fs"
    propagation: str = ""
    resources: JsonObject = field(default_factory=dict)

    def opted(self, app: str) -> bool:
        """Whether Pods of this model are patched."""
        return self.every or app in {model.name for model in self.models}

    def tried(self) -> tuple[Model, ...]:
        """Models to try: one of no name where all are patched and none is named."""
        return self.models or (Model("tkc-patch-check", self.hashSeed),)


def parse(text: str, source: str) -> tuple[Place, ...]:
    """Read what the chart gives; raises UsageError that names ``source``."""
    raw = read(text, source)
    resources = raw.get("resources") or {}
    return tuple(
        _place(namespace, entry, resources, f"{source}: {namespace}")
        for namespace, entry in sorted((raw.get("namespaces") or {}).items())
    )


def _place(namespace: str, raw: Any, resources: JsonObject, where: str) -> Place:
    if not isinstance(raw, Mapping):
        raise UsageError(f"{where} is no object. Fix: {FIX}")
    missing = [key for key in ("claim", "mountPath") if not raw.get(key)]
    if missing:
        raise UsageError(f"{where}: {', '.join(missing)} missing. Fix: {FIX}")
    seed = _text(raw, "hashSeed")
    named = [str(name) for name in raw.get("models") or []]
    own = raw.get("ofModels") or {}
    # Of a model that is told more about, the image and root are proven as well, even where all are patched.
    wanted = sorted({name for name in (*named, *own) if name != ALL})
    return Place(
        namespace=namespace,
        claim=str(raw["claim"]),
        mountPath=str(raw["mountPath"]).rstrip("/"),
        hashSeed=seed,
        models=tuple(_model(name, own.get(name) or {}, seed) for name in wanted),
        every=ALL in named,
        adapter=str(raw.get("adapter") or "fs"),
        propagation=str(raw.get("propagation") or ""),
        resources=resources,
    )


def _model(name: str, raw: Mapping[str, Any], seed: str) -> Model:
    return Model(name, _text(raw, "hashSeed") or seed, _text(raw, "root"), _text(raw, "image"))


def _text(raw: Mapping[str, Any], key: str) -> str:
    """0 is a seed as well."""
    return "" if raw.get(key) is None else str(raw[key])
