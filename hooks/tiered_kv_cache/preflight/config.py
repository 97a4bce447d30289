"""What preflight is told: what the release is made of, as the chart rendered it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from ..cluster import JsonObject
from ..findings import UsageError
from ..told import read

HYPERPOD = "hyperpod"
FIX = "use a chart and a hooks image of the same version"
T = TypeVar("T")


@dataclass(frozen=True)
class Claim:
    """``key``: the value that names it; ``made``: by the release itself.

    Of one that is made: ``size`` in bytes and ``madeClass``, which Kubernetes changes in no claim that is there, and
    ``recipe``: how to get to another one. ``storageClass``: one that must be there.
    """

    key: str
    name: str
    mode: str = ""
    made: bool = False
    storageClass: str = ""
    size: int = 0
    madeClass: str = ""
    recipe: str = ""


@dataclass(frozen=True)
class Account:
    """``assignable``: the operator asks for its own label on it."""

    key: str
    name: str
    assignable: bool = False


@dataclass(frozen=True)
class Driver:
    """A CSI driver; ``made``: by the release itself."""

    key: str
    name: str
    made: bool = False


@dataclass(frozen=True)
class Part:
    """A DaemonSet or StatefulSet of others that the release counts on. ``required``: without it nothing works."""

    key: str
    kind: str
    namespace: str
    name: str
    required: bool = True


@dataclass(frozen=True)
class Security:
    """A namespace whose Pods need a Pod Security level. ``sure``: they do; else it was only observed."""

    namespace: str
    level: str
    why: str
    sure: bool = True


@dataclass(frozen=True)
class Workload:
    """Pods of one kind. ``once``: a hook's, which come and go; ``surge``: more of them during a rollout.

    ``containers`` and ``initContainers``: name, requests and limits of each, as in a Pod.
    """

    key: str
    name: str
    replicas: int
    containers: tuple[JsonObject, ...]
    initContainers: tuple[JsonObject, ...] = ()
    surge: int = 0
    once: bool = False
    nodeSelector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[JsonObject, ...] = ()
    affinity: JsonObject = field(default_factory=dict)
    crossNode: bool = False


@dataclass(frozen=True)
class Operator:
    """AWS's operator. ``version``: what values say, or nothing; ``crossCheck``: whether its parts are looked for."""

    namespace: str
    version: str = ""


@dataclass(frozen=True)
class Patch:
    """The L2 patch. ``mechanism``: what is rendered, "policy" or "webhook"; ``certManager``: who makes its certificate."""

    mechanism: str
    certManager: bool = False


@dataclass(frozen=True)
class Settings:
    """A run. ``instance``: label of the release's Pods; ``tolerate``: checks whose failures only warn."""

    platform: str
    namespace: str
    instance: str
    kubernetes: str = "1.28"
    operator: Operator | None = None
    patch: Patch | None = None
    claims: tuple[Claim, ...] = ()
    drivers: tuple[Driver, ...] = ()
    parts: tuple[Part, ...] = ()
    accounts: tuple[Account, ...] = ()
    pullSecrets: tuple[str, ...] = ()
    security: tuple[Security, ...] = ()
    workloads: tuple[Workload, ...] = ()
    tolerate: tuple[str, ...] = ()

    @property
    def hyperpod(self) -> bool:
        """AWS's operator makes the engines' Pods."""
        return self.platform == HYPERPOD


NESTED: dict[str, type] = {
    "claims": Claim,
    "drivers": Driver,
    "parts": Part,
    "accounts": Account,
    "security": Security,
    "workloads": Workload,
}
ONE: dict[str, type] = {"operator": Operator, "patch": Patch}


def parse(text: str, source: str) -> Settings:
    """Read what the chart gives; raises UsageError that names ``source``."""
    raw = read(text, source)
    for key, kind in NESTED.items():
        raw[key] = tuple(_make(kind, each, f"{source}: {key}[{i}]") for i, each in enumerate(raw.get(key) or []))
    for key, kind in ONE.items():
        raw[key] = _make(kind, raw[key], f"{source}: {key}") if raw.get(key) else None
    return _make(Settings, raw, source)


def _make(kind: type[T], raw: Any, where: str) -> T:
    if not isinstance(raw, dict):
        raise UsageError(f"{where} is no object. Fix: {FIX}")
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(raw.keys() - known):
        raise UsageError(f"{where}: unknown key {', '.join(unknown)}. Fix: {FIX}")
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()})
    except TypeError as err:
        raise UsageError(f"{where}: {err}. Fix: {FIX}") from err
