"""The L2 roots of a model's Pods: each Pod finds its own at its start, and all must have found the same.

What names a root is the fingerprint of everything that changes a block's bytes, the weights among it, which only a Pod
can read. config.json in a root says what its fingerprint was made from, so that two roots can be compared by key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .. import names
from ..findings import Finding
from ..pods import Pod
from . import files, static
from .config import ModelSpec

KEYS = 6
"""Differing keys that a finding names."""


def known(pods: list[Pod]) -> str:
    """The root that the Pods use, when they agree on one; else empty."""
    found = {(p.l2_report() or {}).get("root", "") for p in pods}
    return found.pop() if len(found) == 1 else ""


def check(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    """Whether the Pods whose init container has ended agree on a root below the model's directory."""
    reports = [(pod, report) for pod in pods if (report := pod.l2_report()) is not None]
    silent = [f"Pod {pod.name}" for pod, report in reports if not report.get("root") or not report.get("fingerprint")]
    if silent:
        yield Finding(
            f"model {model.name}: {names.INIT_L2_ROOT} of {static.some(silent)} left no JSON with root and fingerprint "
            "as its termination message, so that nobody can tell which L2 directory it uses",
            "use a chart and a hooks image of one version (hooks.image), and restart the Pods",
            static.restart(model, pods),
        )
    roots = [(f"Pod {pod.name}", report["root"]) for pod, report in reports if report.get("root")]
    different = list(dict.fromkeys(root for _, root in roots))
    if len(different) > 1:
        yield Finding(
            f"model {model.name}: the L2 root differs, so that no Pod finds what another one stored: "
            f"{static.groups(roots)}; {_why(reports, different)}",
            "run helm upgrade with one set of values, and restart the Pods: each looks at its weights anew; if these "
            f"differ still, give all Pods the same ones (models.{model.name}.source)",
            static.restart(model, pods),
        )
    elif different and not different[0].startswith(model.l2_parent.rstrip("/") + "/"):
        yield Finding(
            f"model {model.name}: the L2 root of {static.some([who for who, _ in roots])} is {different[0]}, "
            f"not below {model.l2_parent}; the Pods are not those of this release's values",
            "run helm upgrade, and restart the Pods",
            static.restart(model, pods),
        )


def _why(reports: list[tuple[Pod, Any]], roots: list[str]) -> str:
    """By which keys the first two roots differ: from config.json when it can be read here, else from the reports."""
    first, second = (_config(root) for root in roots[:2])
    if first is None or second is None:
        one, other = (next(r for _, r in reports if r.get("root") == root) for root in roots[:2])
        keys = [k for k in sorted({*one, *other} - {"root", "fingerprint"}) if one.get(k) != other.get(k)]
        told = [f"{k}: {one.get(k, 'nothing')} and {other.get(k, 'nothing')}" for k in keys]
        unread = f"{names.L2_CONFIG_FILE} of both cannot be read here"
        return f"they differ in {'; '.join(told)}" if told else unread
    one, other = _flat(first), _flat(second)
    keys = [k for k in sorted({*one, *other}) if one.get(k) != other.get(k)]
    told = [f"{k}: {one.get(k, 'nothing')} and {other.get(k, 'nothing')}" for k in keys[:KEYS]]
    more = f"; and {len(keys) - KEYS} more" if len(keys) > KEYS else ""
    return f"their {names.L2_CONFIG_FILE} differ in {'; '.join(told)}{more}" if told else "why is not known"


def _flat(value: Any, key: str = "") -> dict[str, str]:
    """Leaves by their dotted keys, as JSON, so that 1, 1.0, true and "1" differ."""
    if isinstance(value, dict) and value:
        return {
            k: v for name, inner in value.items() for k, v in _flat(inner, f"{key}.{name}" if key else name).items()
        }
    return {key: json.dumps(value, sort_keys=True)}


def _config(root: str) -> Any | None:
    text = files.read(f"{root}/{names.L2_CONFIG_FILE}")
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
