"""Which nodes a Pod may run on, by the scheduler's rules that the chart's Pods use, and how many fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from ..cluster import JsonObject
from .amounts import Amounts, amounts
from .config import Workload

BLOCKING = ("NoSchedule", "NoExecute")
CORDON: JsonObject = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclass(frozen=True)
class Node:
    """``room``: what Pods may ask for in all."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[JsonObject, ...]
    ready: bool
    room: Amounts

    @classmethod
    def parse(cls, raw: JsonObject) -> Node:
        """From the API's JSON."""
        spec, status = raw.get("spec") or {}, raw.get("status") or {}
        taints = [each for each in spec.get("taints") or [] if isinstance(each, dict)]
        # A cordoned node has the taint as well, once its controller has seen it.
        if spec.get("unschedulable") and not any(each.get("key") == CORDON["key"] for each in taints):
            taints.append(CORDON)
        conditions = {each.get("type"): each.get("status") for each in status.get("conditions") or []}
        return cls(
            name=str(raw["metadata"]["name"]),
            labels=raw["metadata"].get("labels") or {},
            taints=tuple(taints),
            ready=conditions.get("Ready") == "True",
            room=amounts(status.get("allocatable")),
        )


def refused(node: Node, workload: Workload) -> str:
    """Why a Pod may not run there, for people; empty if it may."""
    if not node.ready:
        return "not Ready"
    for name, value in workload.nodeSelector.items():
        if node.labels.get(name) != str(value):
            return f"without label {name}={value}"
    if why := _affinity(node, workload.affinity):
        return why
    for taint in node.taints:
        if taint.get("effect") in BLOCKING and not any(_tolerates(each, taint) for each in workload.tolerations):
            return f"tainted {_taint(taint)}"
    return ""


def fit(room: Amounts, needs: Amounts) -> int:
    """How many such Pods go into it."""
    wanted = {name: value for name, value in needs.items() if value > 0} | {"pods": Decimal(1)}
    return max(0, int(min(room.get(name, Decimal(0)) // value for name, value in wanted.items())))


def lacks(room: Amounts, needs: Amounts) -> list[str]:
    """Resources of which there is too little for one."""
    return sorted(name for name, value in needs.items() if value > room.get(name, Decimal(0)))


def _affinity(node: Node, affinity: JsonObject) -> str:
    required = ((affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")) or {}
    terms = required.get("nodeSelectorTerms") or []
    failed = [_term(node, each) for each in terms]
    return failed[0] if failed and all(failed) else ""


def _term(node: Node, term: JsonObject) -> str:
    expressions = [(each, node.labels) for each in term.get("matchExpressions") or []]
    expressions += [(each, {"metadata.name": node.name}) for each in term.get("matchFields") or []]
    if not expressions:
        return "no node selector term matches it"
    for each, labels in expressions:
        if not _matches(each, labels):
            values = ",".join(map(str, each.get("values") or []))
            return f"not {each.get('key')} {each.get('operator')} {values}".rstrip()
    return ""


def _matches(expression: JsonObject, labels: Mapping[str, str]) -> bool:
    key, values = str(expression.get("key")), [str(each) for each in expression.get("values") or []]
    have, operator = labels.get(key), expression.get("operator")
    if operator in ("Gt", "Lt"):
        try:
            return int(have or "") > int(values[0]) if operator == "Gt" else int(have or "") < int(values[0])
        except (ValueError, IndexError):
            return False
    answers = {
        "In": have in values,
        "NotIn": have not in values,
        "Exists": have is not None,
        "DoesNotExist": have is None,
    }
    return answers.get(str(operator), False)


def _tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("operator") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint.get("key")
    same = str(toleration.get("value") or "") == str(taint.get("value") or "")
    return bool(toleration.get("key")) and toleration["key"] == taint.get("key") and same


def _taint(taint: JsonObject) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect')}"


def toleration_of(taint: str) -> str:
    """Values that tolerate a taint as ``refused`` shows it."""
    key, _, effect = taint.rpartition(":")
    name, equals, value = key.partition("=")
    match = f"operator: Equal, value: {value}" if equals else "operator: Exists"
    return f"{{key: {name}, {match}, effect: {effect}}}"


def counted(reasons: Iterable[str]) -> str:
    """Reasons with how often each came, the most frequent first."""
    counts: dict[str, int] = {}
    for each in reasons:
        counts[each] = counts.get(each, 0) + 1
    return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items(), key=lambda pair: -pair[1]))
