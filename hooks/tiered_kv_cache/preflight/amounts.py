"""Amounts of resources: what a Pod asks for, added up as the scheduler and quotas do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from ..cluster import JsonObject
from .config import Workload

Amounts = dict[str, Decimal]
GIB = 1 << 30
BYTES = ("memory", "storage", "ephemeral-storage")


def amounts(raw: Mapping[str, Any] | None) -> Amounts:
    """Cores, bytes and counts, by resource; what is no quantity is left out."""
    found: Amounts = {}
    for name, value in (raw or {}).items():
        try:
            found[name] = Decimal(parse_quantity(str(value)))
        except ValueError:
            continue
    return found


def plus(one: Amounts, other: Amounts, times: int = 1) -> Amounts:
    """One, and the other so many times."""
    return {name: one.get(name, Decimal(0)) + other.get(name, Decimal(0)) * times for name in {**one, **other}}


def sides(container: JsonObject) -> tuple[Amounts, Amounts]:
    """Requests and limits of a container; what is limited only is requested as well."""
    limits = amounts(container.get("limits"))
    return limits | amounts(container.get("requests")), limits


def of_pod(containers: Iterable[JsonObject], init: Iterable[JsonObject]) -> tuple[Amounts, Amounts]:
    """Requests and limits of a Pod. Each has ``requests`` and ``limits``: init containers run before the others, one at a time,
    unless they stay (restartPolicy Always)."""
    total: tuple[Amounts, Amounts] = ({}, {})
    largest: tuple[Amounts, Amounts] = ({}, {})
    for each in containers:
        both = sides(each)
        total = plus(total[0], both[0]), plus(total[1], both[1])
    staying: tuple[Amounts, Amounts] = ({}, {})
    for each in init:
        both = sides(each)
        if each.get("restartPolicy") == "Always":
            staying = plus(staying[0], both[0]), plus(staying[1], both[1])
            total = plus(total[0], both[0]), plus(total[1], both[1])
        else:
            largest = _most(largest[0], plus(staying[0], both[0])), _most(largest[1], plus(staying[1], both[1]))
    return _most(total[0], largest[0]), _most(total[1], largest[1])


def needs(workload: Workload) -> tuple[Amounts, Amounts]:
    """The same of one Pod of a workload."""
    return of_pod(workload.containers, workload.initContainers)


def of_api(pod: JsonObject) -> tuple[Amounts, Amounts]:
    """The same of a Pod of the API."""
    spec = pod.get("spec") or {}
    both = [
        [
            dict(each.get("resources") or {}) | {"restartPolicy": each.get("restartPolicy")}
            for each in spec.get(part) or []
        ]
        for part in ("containers", "initContainers")
    ]
    return of_pod(*both)


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in {**one, **other}}


def shown(resource: str, value: Decimal) -> str:
    """For people: "4 nvidia.com/gpu", "1.5Gi memory", "250m cpu"."""
    name = (
        resource.rpartition(".")[2]
        if resource.startswith(("requests.", "limits.")) and "/" not in resource
        else resource
    )
    if name in BYTES:
        gib = value / GIB
        return f"{_plain(gib)}Gi {resource}" if gib >= 1 else f"{_plain(value / (1 << 20))}Mi {resource}"
    if name == "cpu" and value != value.to_integral_value():
        return f"{_plain(value * 1000)}m {resource}"
    return f"{_plain(value)} {resource}"


def _plain(value: Decimal) -> str:
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".")
