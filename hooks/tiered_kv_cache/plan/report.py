"""A plan for people, and as JSON."""

from __future__ import annotations

from typing import IO, Any

from rich import box
from rich.console import Console
from rich.table import Table

from ..keeper.units import human
from ..preflight.amounts import Amounts, shown
from ..rows import WIDTH
from .changes import Change
from .plan import Plan
from .said import said
from .tiers import Model
from .workloads import Workload

MOST_FIELDS = 8
"""Of one changed object; --json has all."""


def print_plan(plan: Plan, out: IO[str]) -> None:
    """Tables: Pods, tiers, quotas; then nodes, and what would change."""
    console = Console(file=out, width=WIDTH, highlight=False, markup=False, no_color=None if out.isatty() else True)
    _table(
        console, ("Pods of", "kind", "Pods", "rollout", "each asks for", "instance types"), map(_pods, plan.workloads)
    )
    print(f"in all       {_amounts(plan.total)}", file=out)
    print(f"in a rollout {_amounts(plan.rollout)}", file=out)
    print(_nodes(plan), file=out)
    if plan.models:
        print(file=out)
        _table(
            console, ("model", "tier", "bytes", "tokens", "of"), (row for each in plan.models for row in _tiers(each))
        )
    for each in plan.quotas:
        models = ", ".join(f"{name} {_size(size)}" for name, size in each.models.items())
        print(f"quota of {each.line}: {_size(each.bytes)}{f', of it {models}' if models else ''}", file=out)
    print(file=out)
    for line in _differences(plan):
        print(line, file=out)


def _table(console: Console, titles: tuple[str, ...], rows: Any) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _pods(each: Workload) -> tuple[str, ...]:
    count = f"{each.least}" if each.least == each.most else f"{each.least} to {each.most}"
    pods, surge = ("one a node", "0") if each.each_node else (count, f"+{each.surge}")
    return each.name, each.kind, pods, surge, _amounts(each.requests), ", ".join(each.instance_types) or "any"


def _tiers(model: Model) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for index, tier in enumerate(model.tiers):
        of = "all Pods" if tier.name == "L2" else "one Pod"
        note = tier.note if tier.note else "" if tier.tokens is not None else "shape not known"
        tokens = "not known" if tier.tokens is None else f"{tier.tokens:,}"
        rows.append(
            (
                model.name if not index else "",
                tier.name,
                _size(tier.bytes),
                tokens,
                f"{of}{f'; {note}' if note else ''}",
            )
        )
    known = f"{human(model.token_bytes)} a token" if model.token_bytes else f"bytes of a token not known: {model.why}"
    rows.append(("", "", "", "", f"{known}; context {model.max_model_len:,} tokens"))
    return rows


def _nodes(plan: Plan) -> str:
    if plan.nodes is None:
        return f"nodes        not counted: give {said('--node')} with what one of them has for Pods"
    lines = [
        f"nodes        {plan.nodes.steady}, in a rollout {plan.nodes.rollout} (at most; of the kind that {said('--node')} describes)"
    ]
    return "\n".join(lines + [f"             fits on none: {each}" for each in plan.nodes.homeless])


def _differences(plan: Plan) -> list[str]:
    if plan.changes is None:
        return [f"changes: not known, nothing to compare with: {plan.live.why}"]
    counts = {what: sum(each.what == what for each in plan.changes) for what in ("added", "changed", "removed")}
    head = ", ".join(f"{count} {what}" for what, count in counts.items())
    lines = [f"changes against {plan.live.source}: {head}"]
    for each in plan.changes:
        lines += _change(each)
    return lines


def _change(change: Change) -> list[str]:
    mark = {"added": "+", "removed": "-", "changed": "~"}[change.what]
    lines = [f"  {mark} {change.key}{f': {change.effect}' if change.effect else ''}"]
    lines += [f"      {field}" for field in change.fields[:MOST_FIELDS]]
    if len(change.fields) > MOST_FIELDS:
        lines.append(f"      and {len(change.fields) - MOST_FIELDS} more fields ({said('--json')})")
    return lines


def _amounts(amounts: Amounts) -> str:
    return ", ".join(shown(name, value) for name, value in sorted(amounts.items())) or "nothing"


def _size(size: int | None) -> str:
    return "not known" if size is None else human(size)


def to_json(plan: Plan) -> dict[str, Any]:
    """All of it; bytes and cores as numbers."""
    return {
        "workloads": [
            {
                "kind": each.kind, "name": each.name, "component": each.component, "model": each.model,
                "least": each.least, "most": each.most, "surge": each.surge, "eachNode": each.each_node,
                "requests": _numbers(each.requests), "limits": _numbers(each.limits),
                "instanceTypes": list(each.instance_types),
            }
            for each in plan.workloads
        ],
        "models": [
            {
                "name": each.name, "lineOfBusiness": each.line, "gpus": each.gpus, "maxModelLen": each.max_model_len,
                "pods": {"least": each.workload.least, "most": each.workload.most},
                "tokenBytes": each.token_bytes, "why": each.why,
                "tiers": {
                    tier.name: {"bytes": tier.bytes, "tokens": tier.tokens, "note": tier.note} for tier in each.tiers
                },
            }
            for each in plan.models
        ],
        "quotas": {each.line: {"bytes": each.bytes, "models": each.models} for each in plan.quotas},
        "requests": {"total": _numbers(plan.total), "rollout": _numbers(plan.rollout)},
        "nodes": plan.nodes and {
            "steady": plan.nodes.steady, "rollout": plan.nodes.rollout, "homeless": list(plan.nodes.homeless)
        },
        "comparedWith": plan.live.source if plan.changes is not None else None,
        "notCompared": plan.live.why if plan.changes is None else "",
        "changes": None if plan.changes is None else [
            {
                "what": each.what, "kind": each.key.kind, "namespace": each.key.namespace, "name": each.key.name,
                "effect": each.effect,
                "fields": [{"path": f.path, "before": f.before, "after": f.after} for f in each.fields],
            }
            for each in plan.changes
        ],
    }  # fmt: skip


def _numbers(amounts: Amounts) -> dict[str, float | int]:
    return {
        name: int(value) if value == value.to_integral_value() else float(value)
        for name, value in sorted(amounts.items())
    }
