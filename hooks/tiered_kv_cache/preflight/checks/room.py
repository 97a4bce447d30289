"""ResourceQuotas and LimitRanges of the namespace, against what the release's Pods ask for, before any of them is made."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ...cluster import JsonObject
from ...objects import Denied
from ...rows import FAIL, INFO, Row
from ..amounts import Amounts, amounts, needs, of_api, plus, shown, sides
from ..config import Settings
from ..context import LIMIT_RANGES, PODS, QUOTAS, Context, fails, ok, warns
from .nodes import ours

COMPUTED = ("cpu", "memory", "ephemeral-storage")
HARMLESS = {"NotBestEffort", "NotTerminating"}
"""Scopes of quotas that all Pods of the release are in, except a hook's, which have a deadline."""


def quotas(context: Context) -> Iterator[Row]:
    """What is free in each, beside what is needed; the missing figure is printed."""
    settings = context.settings
    found = context.objects.list(QUOTAS, settings.namespace)
    if not found:
        yield ok("quota", "no ResourceQuota", "room for the release")
        return
    defaults = _defaults(context)
    steady, peak = _needs(settings)
    mine = _mine(context)
    for quota in found:
        yield from _quota(settings, quota, (steady, peak, mine), defaults)


def _quota(
    settings: Settings,
    quota: JsonObject,
    amounts_of: tuple[Amounts, Amounts, Amounts | None],
    defaults: tuple[Amounts, Amounts],
) -> Iterator[Row]:
    steady, peak, mine = amounts_of
    name = str(quota["metadata"]["name"])
    spec = quota.get("spec") or {}
    scopes = set(spec.get("scopes") or []) | {
        str(each.get("scopeName")) for each in (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    }
    if not scopes <= HARMLESS:
        yield Row(
            "quota", INFO, f"{name}: not compared, it has scopes {', '.join(sorted(scopes))}", "room for the release"
        )
        return
    hard = {_full(key): value for key, value in amounts(spec.get("hard")).items()}
    used = {_full(key): value for key, value in amounts((quota.get("status") or {}).get("used")).items()}
    yield from _unsaid(settings, name, hard, defaults)
    commands = (f"kubectl -n {settings.namespace} describe resourcequota {name}",)
    short: list[str] = []
    tight: list[str] = []
    for key in sorted(hard.keys() & peak.keys()):
        free = hard[key] - used.get(key, Decimal(0)) + (mine or {}).get(key, Decimal(0))
        if peak[key] > free:
            needed = steady[key] if steady[key] > free else peak[key]
            figures = f"needed {shown(key, needed)}, free {shown(key, free)} of {shown(key, hard[key])}"
            (short if steady[key] > free else tight).append(f"{shown(key, needed - free)} missing: {figures}")
    if not short and not tight:
        yield ok("quota", f"{name}: enough", "room for the release")
        return
    what = f"ResourceQuota {name} is too small: {'; '.join(short)}"
    if not short:
        what = f"ResourceQuota {name} leaves no room for a rollout or a hook: {'; '.join(tight)}"
    elif mine is None:
        # An upgrade cannot be told from a second release without knowing whose the used Pods are.
        what += " (unless what is used there is this release's own)"
    yield (fails if short and mine is not None else warns)(
        "quota",
        f"{name}: {'; '.join(short or tight)}",
        "room for the release",
        what,
        "raise the quota by what is missing, or lower replicas or resources",
        *commands,
    )


def _unsaid(settings: Settings, quota: str, hard: Amounts, defaults: tuple[Amounts, Amounts]) -> Iterator[Row]:
    """A quota on requests or limits refuses each Pod that does not name them."""
    for workload in settings.workloads:
        for container in (*workload.containers, *workload.initContainers):
            have = dict(zip(("requests", "limits"), _with_defaults(container, defaults), strict=True))
            unsaid = [
                f"{side}.{key}"
                for side in have
                for key in COMPUTED
                if f"{side}.{key}" in hard and key not in have[side]
            ]
            if unsaid:
                where = f"{workload.key}, container {container.get('name')}"
                yield fails(
                    "quota",
                    f"{quota}: {', '.join(unsaid)} not given",
                    "both sides of every container",
                    f"ResourceQuota {quota} counts {', '.join(unsaid)}, and {where} does not say it: each Pod would "
                    "be refused",
                    "give it in the values' resources, or set a LimitRange with defaults",
                )


def ranges(context: Context) -> Iterator[Row]:
    """What a LimitRange refuses, or makes of containers that say nothing."""
    settings = context.settings
    found = context.objects.list(LIMIT_RANGES, settings.namespace)
    rows = [
        row
        for each in found
        for limit in (each.get("spec") or {}).get("limits") or []
        for row in _range(settings, str(each["metadata"]["name"]), limit)
    ]
    yield from rows
    if not any(row.severity == FAIL for row in rows):
        yield ok("limit range", f"{len(found)} allow it" if found else "no LimitRange", "every container within it")


def _range(settings: Settings, name: str, limit: JsonObject) -> Iterator[Row]:
    kind = str(limit.get("type"))
    least, most, ratios = (amounts(limit.get(key)) for key in ("min", "max", "maxLimitRequestRatio"))
    for workload in settings.workloads:
        if kind == "Container":
            defaults = _of(limit)
            entries = [
                (f"container {each.get('name')}", *_with_defaults(each, defaults))
                for each in (*workload.containers, *workload.initContainers)
            ]
        elif kind == "Pod":
            entries = [("Pod", *needs(workload))]
        else:
            continue
        for what, requests, limits in entries:
            faults = _faults(requests, limits, least, most, ratios)
            if faults:
                yield fails(
                    "limit range",
                    f"{name}: {what} {'; '.join(faults)}",
                    "every container within it",
                    f"LimitRange {name} refuses {workload.key}, {what}: {'; '.join(faults)}",
                    "change the resources in values, or the LimitRange",
                    f"kubectl -n {settings.namespace} describe limitrange {name}",
                )


def _faults(requests: Amounts, limits: Amounts, least: Amounts, most: Amounts, ratios: Amounts) -> list[str]:
    found = []
    for key, value in most.items():
        have = limits.get(key)
        if have is None or have > value:
            found.append(
                f"has {'no limit' if have is None else f'limit {shown(key, have)}'}, at most {shown(key, value)}"
            )
    for key, value in least.items():
        have = requests.get(key)
        if have is None or have < value:
            found.append(
                f"has {'no request' if have is None else f'request {shown(key, have)}'}, at least {shown(key, value)}"
            )
    for key, value in ratios.items():
        limit, request = limits.get(key), requests.get(key)
        if limit is None or not request:
            found.append(f"needs both sides of {key} for the ratio {value}")
        elif limit / request > value:
            ratio = (limit / request).quantize(Decimal("0.1"))
            found.append(
                f"has {key} limit / request = {ratio}, at most {value}: raise the request to "
                f"{shown(key, limit / value)}"
            )
    return found


def _defaults(context: Context) -> tuple[Amounts, Amounts]:
    try:
        found = context.objects.list(LIMIT_RANGES, context.settings.namespace)
    except Denied:
        return {}, {}
    both: tuple[Amounts, Amounts] = ({}, {})
    for each in found:
        for limit in (each.get("spec") or {}).get("limits") or []:
            if limit.get("type") == "Container":
                requests, limits = _of(limit)
                both = both[0] | requests, both[1] | limits
    return both


def _of(limit: JsonObject) -> tuple[Amounts, Amounts]:
    """A LimitRange's own defaults: requests and limits."""
    limits = amounts(limit.get("max")) | amounts(limit.get("default"))
    return limits | amounts(limit.get("defaultRequest")), limits


def _with_defaults(container: JsonObject, defaults: tuple[Amounts, Amounts]) -> tuple[Amounts, Amounts]:
    requests, limits = sides(container)
    return defaults[0] | requests, defaults[1] | limits


def _needs(settings: Settings) -> tuple[Amounts, Amounts]:
    """Of all Pods that stay, and of those with a rollout's and the largest hook's, as a quota counts."""
    steady: Amounts = {}
    surge: Amounts = {}
    for workload in settings.workloads:
        if not workload.once:
            one = _counted(*needs(workload))
            steady, surge = plus(steady, one, workload.replicas), plus(surge, one, workload.surge)
    for claim in settings.claims:
        if claim.made:
            steady = plus(steady, {"persistentvolumeclaims": Decimal(1), "requests.storage": Decimal(claim.size)})
    hooks: Amounts = {}
    for workload in settings.workloads:
        if workload.once:
            one = plus({}, _counted(*needs(workload)), workload.replicas)
            hooks = {key: max(hooks.get(key, Decimal(0)), one.get(key, Decimal(0))) for key in {**hooks, **one}}
    peak = plus(plus(steady, surge), hooks)
    return {key: steady.get(key, Decimal(0)) for key in peak}, peak


def _mine(context: Context) -> Amounts | None:
    """What this release's own Pods use already, and an upgrade gives back; None if Pods may not be read."""
    try:
        pods = context.objects.list(PODS, context.settings.namespace)
    except Denied:
        return None
    total: Amounts = {}
    for raw in pods:
        if ours(raw, context.settings) and (raw.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            total = plus(total, _counted(*of_api(raw)))
    return total


def _counted(requests: Amounts, limits: Amounts) -> Amounts:
    """One Pod, by the names of a quota."""
    found: Amounts = {"pods": Decimal(1), "count/pods": Decimal(1)}
    for key, value in requests.items():
        found[f"requests.{key}"] = value
    for key, value in limits.items():
        if key in COMPUTED:
            found[f"limits.{key}"] = value
    return found


def _full(key: str) -> str:
    """Of two names for the same the longer one."""
    return f"requests.{key}" if key in COMPUTED else key
