"""The result as JSON; for a Pod's termination message it must fit 4096 bytes and still be JSON."""

from __future__ import annotations

import json
from typing import Any

from ..findings import Finding, shorten
from .report import summary
from .result import CONTROL, FAIL, PASS, SKIPPED, TIERS, ModelResult, Result, Row

LIMIT = 4000
"""Bytes for --json-file. The kubelet keeps 4096 of a termination message, and 12 KiB of all containers of a Pod."""


def document(
    result: Result, text: int = 2000, finding: int = 2000, findings: int = 1000, rows: int = 1000
) -> dict[str, Any]:
    """The document; the limits: characters of a text and of a finding, numbers of findings and of rows a model.

    Each model has ``tiers`` in the order of the table and ``control``, the second answer without a cache.
    """
    return {
        "ok": result.ok,
        "summary": summary(result),
        "models": [_model(m, text, finding, findings, rows) for m in result.models],
        "findings": _some(result.findings, finding, findings),
    }


def full(result: Result) -> str:
    """All of it, indented."""
    return json.dumps(document(result), indent=2)


def fitted(result: Result, limit: int = LIMIT) -> str:
    """The most that fits ``limit`` bytes: texts go first, then long findings, then rows and more findings."""
    steps = (
        (2000, 2000, 1000, 1000),
        (200, 1000, 20, 20),
        (80, 500, 10, 10),
        (40, 300, 5, 6),
        (0, 200, 2, 5),
        (0, 120, 1, 0),
    )
    for text, finding, findings, rows in steps:
        out = _compact(document(result, text, finding, findings, rows))
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


def _model(model: ModelResult, text: int, finding: int, findings: int, rows: int) -> dict[str, Any]:
    cold = model.cold
    tiers = sorted((r for r in model.rows if r.tier != CONTROL), key=lambda r: TIERS.index(r.tier))
    control = [r for r in model.rows if r.tier == CONTROL]
    return {
        "model": model.name,
        "verdict": FAIL if not model.ok else SKIPPED if model.skipped else PASS,
        "pods": model.pods[: max(rows, 2)],
        "promptTokens": model.prompt_tokens,
        "text": shorten(cold.text, text) if cold and cold.text is not None else "",
        "tiers": [_row(r, text) for r in tiers[:rows]],
        "control": _row(control[0], text) if control and rows else None,
        "findings": _some(model.findings, finding, findings),
        "warnings": _some(model.warnings, finding, findings),
        "notMeasured": _some(model.skips, finding, findings),
        "notes": [shorten(n, finding) for n in model.notes[:findings]],
    }


def _row(row: Row, text: int) -> dict[str, Any]:
    hits = row.hits
    found = {"l0": int(hits.l0), "l1": int(hits.l1), "l2": int(hits.l2)} if hits else None
    if hits and found and hits.either:
        found["l1OrL2"] = int(hits.either)
    return {
        "tier": row.tier,
        "pod": row.pod,
        "node": row.node,
        "ttftMs": round(row.ttft_ms, 1) if row.ttft_ms is not None else None,
        "ratio": round(row.ratio, 2) if row.ratio is not None else None,
        "hitTokens": found,
        "same": row.same,
        "verdict": row.verdict,
        "why": row.why,
        "note": shorten(row.note, max(text, 20)),
    }


def _some(findings: list[Finding], length: int, number: int) -> list[str]:
    more = [f"and {len(findings) - number} more; see the log"] if len(findings) > number else []
    return [shorten(str(f), length) for f in findings[:number]] + more


def _compact(value: dict[str, Any]) -> str:
    # ASCII only, so that characters are bytes.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)
