"""All that a plan says, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..cluster import JsonObject
from ..preflight.amounts import Amounts, plus
from . import changes as changing
from . import nodes, quotas, tiers, workloads
from .live import Live
from .manifests import is_hook
from .shape import Shape


@dataclass(frozen=True)
class Nodes:
    """At most so many, in peace and while Pods are replaced; ``homeless``: what fits on none."""

    steady: int
    rollout: int
    homeless: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """``total`` and ``rollout``: requests of all Pods at their most, in peace and while they are replaced; ``nodes``: None
    without --node; ``changes``: None where nothing is known to compare with, and ``live`` says why."""

    workloads: list[workloads.Workload]
    models: list[tiers.Model]
    quotas: list[quotas.Quota]
    total: Amounts
    rollout: Amounts
    nodes: Nodes | None
    live: Live
    changes: list[changing.Change] | None


def make(
    objects: list[JsonObject], shapes: Mapping[str, Shape], gpu_memory: int | None, node: Amounts | None, live: Live
) -> Plan:
    """``node``: what one has for Pods."""
    found = workloads.workloads(objects)
    limits = quotas.quotas(objects)
    counted = [each for each in found if not each.each_node]
    total: Amounts = {}
    rollout: Amounts = {}
    for each in counted:
        total = plus(total, each.asked(each.most))
        rollout = plus(rollout, each.asked(each.most + each.surge))
    places = None
    if node is not None:
        steady, homeless = nodes.needed(found, node, surging=False)
        places = Nodes(steady, nodes.needed(found, node, surging=True)[0], tuple(homeless))
    differences = None
    if live.objects is not None:
        # What helm get manifest prints has no hooks.
        before, after = ([each for each in side if live.hooks or not is_hook(each)] for side in (live.objects, objects))
        differences = changing.changes(before, after)
    return Plan(
        found, tiers.models(found, limits, shapes, gpu_memory), limits, total, rollout, places, live, differences
    )
