"""How many nodes of one kind hold Pods: the largest first, each into the first node with room, as a scheduler may do no better."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from ..findings import UsageError
from ..preflight.amounts import Amounts, amounts, plus
from ..preflight.placing import lacks
from .said import said
from .workloads import Workload

PODS = Decimal(110)
"""Pods of a node where nothing else is said: the kubelet's default."""


def room(text: str) -> Amounts:
    """What ``--node`` says. Raises UsageError."""
    parts = [each.partition("=") for each in text.split(",") if each]
    found = amounts({name.strip(): value.strip() for name, _, value in parts})
    if not parts or len(found) != len(parts) or any(value <= 0 for value in found.values()):
        raise UsageError(
            f"{said('--node', repr(text))} is no list of amounts. Fix: write it like cpu=15,memory=120Gi,nvidia.com/gpu=1"
        )
    return {"pods": PODS} | found


def needed(workloads: Iterable[Workload], node: Amounts, surging: bool) -> tuple[int, list[str]]:
    """Nodes for all Pods at their most, ``surging``: while all are replaced; and what fits on none, for people.

    Resources that the node says nothing of are taken to be there: they are counted by others.
    """
    every = {name: Decimal(0) for name in node}
    for each in workloads:
        if each.each_node:
            every = plus(every, _counted(each.requests, node) | {"pods": Decimal(1)})
    left = {name: value - every.get(name, Decimal(0)) for name, value in node.items()}
    pods, homeless = [], []
    for each in workloads:
        if each.each_node:
            continue
        wanted = _counted(each.requests, node) | {"pods": Decimal(1)}
        if missing := lacks(left, wanted):
            homeless.append(f"{each.kind} {each.name}: too little {', '.join(missing)}")
        else:
            pods += [wanted] * (each.most + (each.surge if surging else 0))
    return len(_packed(pods, left)), homeless


def _counted(asked: Amounts, node: Amounts) -> Amounts:
    return {name: value for name, value in asked.items() if name in node}


def _packed(pods: list[Amounts], node: Amounts) -> list[Amounts]:
    """What is left on each node."""
    free: list[Amounts] = []
    for wanted in sorted(pods, key=lambda each: _weight(each, node), reverse=True):
        place = next((index for index, room in enumerate(free) if not lacks(room, wanted)), None)
        if place is None:
            free.append(dict(node))
            place = len(free) - 1
        free[place] = plus(free[place], wanted, -1)
    return free


def _weight(pod: Amounts, node: Amounts) -> Decimal:
    """The largest part of a node that it takes of anything."""
    return max((value / node[name] for name, value in pod.items() if node[name] > 0), default=Decimal(0))
