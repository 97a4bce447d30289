"""The result as a table for people."""

from __future__ import annotations

from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .result import ModelResult, Result, Row

TITLES = {"cold": "cold", "l2": "L2", "l0": "L0", "l1": "L1"}
LOG_WIDTH = 180
"""Columns of a log that is no terminal; Pod names are long."""


def print_result(result: Result, out: IO[str]) -> None:
    """Print the table, notes, and every finding with its fix."""
    console = Console(file=out, width=None if out.isatty() else LOG_WIDTH, highlight=False, markup=False)
    if any(m.rows for m in result.models):
        console.print(_table(result))
    for model in result.models:
        for note in model.notes:
            _line(console, f"note: model {model.name}: {note}")
        for row in model.rows:
            if row.note:
                _line(console, f"note: model {model.name}: {TITLES[row.tier]} on Pod {row.pod}: {row.note}")
        if model.cold and model.cold.text is not None:
            _line(console, f"text: model {model.name}: {model.cold.text!r}")
    findings = [*result.findings, *(f for m in result.models for f in m.findings)]
    for number, finding in enumerate(findings, 1):
        _line(console, f"FAILED {number}/{len(findings)}: {finding.what}")
        _line(console, f"    fix: {finding.fix}")
    _line(console, "verify: passed" if result.ok else f"verify: FAILED with {len(findings)} findings")


def _line(console: Console, text: str) -> None:
    # Never wrapped: people grep logs and copy commands from them.
    console.print(Text(text), soft_wrap=True)


def _table(result: Result) -> Table:
    table = Table(title="KV cache, tier by tier")
    for title in ("model", "tier", "Pod", "node"):
        table.add_column(title, no_wrap=True)
    for title in ("TTFT ms", "speed-up", "prompt tokens", "hit L0", "hit L1", "hit L2"):
        table.add_column(title, justify="right")
    for model in result.models:
        for row in model.rows:
            table.add_row(*_cells(model, row))
    return table


def _cells(model: ModelResult, row: Row) -> list[str]:
    cold = model.cold
    faster = cold.ttft_ms / row.ttft_ms if cold and cold.ttft_ms and row.ttft_ms else None
    hits = [f"{n:g}" for n in row.counters.served()] if row.counters else ["-"] * 3
    return [
        model.name,
        TITLES[row.tier],
        row.pod,
        row.node,
        f"{row.ttft_ms:.0f}" if row.ttft_ms is not None else "-",
        f"{faster:.1f}x" if faster else "-",
        str(model.prompt_tokens),
        *hits,
    ]
