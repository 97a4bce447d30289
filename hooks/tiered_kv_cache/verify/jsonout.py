"""The result as JSON; for a Pod's termination message it must fit 4096 bytes and still be JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..findings import Finding, shorten
from .report import summary
from .result import CONTROL, FAIL, PASS, SKIPPED, TIERS, ModelResult, Result, Row

LIMIT = 4000
"""Bytes for --json-file. The kubelet keeps 4096 of a termination message, and 12 KiB of all containers of a Pod."""


@dataclass(frozen=True)
class Limits:
    """Characters of a text and of a finding, numbers of findings and of rows a model; ``brief``: rows without places."""

    text: int = 2000
    finding: int = 2000
    findings: int = 1000
    rows: int = 1000
    brief: bool = False


STEPS = (
    Limits(),
    Limits(200, 1000, 20, 20),
    Limits(80, 500, 10, 10),
    Limits(40, 300, 5, 6),
    Limits(0, 200, 2, 5),
    Limits(0, 200, 2, 4, brief=True),
    Limits(0, 120, 1, 0, brief=True),
)
BRIEF = ("tier", "ttftMs", "ratio", "hitTokens", "verdict", "why")


def document(result: Result, limits: Limits = STEPS[0]) -> dict[str, Any]:
    """The document, cut to ``limits``.

    Each model has ``tiers`` in the order of the table and ``control``, the second answer without a cache.
    """
    return {
        "ok": result.ok,
        "summary": shorten(summary(result), max(200, limits.finding)),
        "models": [_model(m, limits) for m in result.models],
        "findings": _some(result.findings, limits),
    }


def full(result: Result) -> str:
    """All of it, indented."""
    return json.dumps(document(result), indent=2)


def fitted(result: Result, limit: int = LIMIT) -> str:
    """The most that fits ``limit`` bytes: texts go first, then long findings, then places, rows and more findings."""
    for limits in STEPS:
        out = _compact(document(result, limits))
        if len(out) <= limit:
            return out
    short: dict[str, Any] = {
        "ok": result.ok,
        "models": [],
        "findings": [],
        "truncated": f"{len(result.models)} models, {len(result.findings)} findings; see the log",
    }
    # What failed is worth more than what passed.
    for model in sorted(result.models, key=lambda m: m.ok):
        entry = {"model": shorten(model.name, 63), "ok": model.ok}
        if len(_compact({**short, "models": [*short["models"], entry]})) > limit:
            break
        short["models"].append(entry)
    return _compact(short)


def _model(model: ModelResult, limits: Limits) -> dict[str, Any]:
    cold = model.cold
    tiers = sorted((r for r in model.rows if r.tier != CONTROL), key=lambda r: TIERS.index(r.tier))
    control = [r for r in model.rows if r.tier == CONTROL]
    found = {
        "model": model.name,
        "verdict": FAIL if not model.ok else SKIPPED if model.skipped else PASS,
        "promptTokens": model.prompt_tokens,
        "tiers": [_row(r, limits) for r in tiers[: limits.rows]],
        "findings": _some(model.findings, limits),
        "warnings": _some(model.warnings, limits),
        "notMeasured": _some(model.skips, limits),
    }
    if limits.brief:
        return found
    return found | {
        "pods": model.pods[: limits.rows],
        "text": shorten(cold.text, limits.text) if cold and cold.text is not None else "",
        "control": _row(control[0], limits) if control else None,
        "notes": [shorten(n, limits.finding) for n in model.notes[: limits.findings]],
    }


def _row(row: Row, limits: Limits) -> dict[str, Any]:
    hits = row.hits
    tokens = {"l0": int(hits.l0), "l1": int(hits.l1), "l2": int(hits.l2)} if hits else None
    if hits and tokens and hits.either:
        tokens["l1OrL2"] = int(hits.either)
    found = {
        "tier": row.tier,
        "pod": row.pod,
        "node": row.node,
        "ttftMs": round(row.ttft_ms, 1) if row.ttft_ms is not None else None,
        "ratio": round(row.ratio, 2) if row.ratio is not None else None,
        "hitTokens": tokens,
        "same": row.same,
        "verdict": row.verdict,
        "why": shorten(row.why, 40),
        "note": shorten(row.note, max(limits.text, 20)),
    }
    return {key: found[key] for key in BRIEF} if limits.brief else found


def _some(findings: list[Finding], limits: Limits) -> list[str]:
    rest = len(findings) - limits.findings
    more = [f"and {rest} more; see the log"] if rest > 0 else []
    return [shorten(str(f), limits.finding) for f in findings[: limits.findings]] + more


def _compact(value: dict[str, Any]) -> str:
    # ASCII only, so that characters are bytes.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)
