"""The result for people: a block a model with its table, and below it what to do; one line of summary at the end.

The table and the sentences name Pods by number and fit 100 columns however long the names are: a log is read on any
screen. Only commands have the full names, and are never wrapped: people copy them.
"""

from __future__ import annotations

import textwrap
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..findings import Finding
from ..metrics import full_chunks
from .result import COLD, CONTROL, EQUAL, FAIL, L0, L1, L2, OFF, PASS, SKIPPED, TIERS, WARN, ModelResult, Result, Row

WIDTH = 100
"""Columns of everything but commands."""
TITLES = {
    COLD: "cold, nothing cached",
    L2: "L2, from another Pod",
    L1: "L1, the Pod's memory",
    L0: "L0, vLLM's own",
    CONTROL: "cold again, control",
}
WORDS = {PASS: "pass", FAIL: "FAIL", WARN: "warn", SKIPPED: "skipped"}
STYLES = {PASS: "green", FAIL: "bold red", WARN: "yellow", SKIPPED: "dim"}
LABEL = 9
"""Width of the word before a finding."""


def print_result(result: Result, out: IO[str]) -> None:
    """Print a block for each model, what belongs to none, and the summary."""
    console = Console(
        file=out,
        width=WIDTH,
        highlight=False,
        markup=False,
        # A log keeps no colours; a terminal does.
        no_color=None if out.isatty() else True,
    )
    for model in result.models:
        _model(console, model)
    for finding in result.findings:
        _finding(console, ModelResult(""), FAIL, finding)
    _line(console, summary(result), style=STYLES[PASS if result.ok else FAIL])


def summary(result: Result) -> str:
    """The last line: the verdict, then what it rests on, then what it does not."""
    models = result.models
    failed = [m.name for m in models if not m.ok]
    asleep = [m.name for m in models if m.ok and m.skipped]
    parts = [f"{len(models) - len(failed) - len(asleep)} of {len(models)} models passed"]
    if failed:
        parts.append(f"failed: {_names(failed)}")
    if asleep:
        parts.append(f"not measured: {_names(asleep)}")
    rows = [f"{r.tier.upper()} of {m.name} ({r.why})" for m in models for r in m.rows if _unmeasured(r)]
    if rows:
        parts.append(f"not proven: {_names(rows)}")
    if warnings := sum(len(m.warnings) for m in models):
        parts.append(_count(warnings, "warning"))
    count = len(result.findings) + sum(len(m.findings) for m in models)
    head = "passed" if result.ok else f"FAILED with {_count(count, 'finding')}"
    return f"verify: {head}; {'; '.join(parts)}; {result.seconds:.0f} s"


def _unmeasured(row: Row) -> bool:
    """A tier that is on and for which there is no proof."""
    return row.tier in (L2, L1, L0) and row.why != OFF and row.verdict in (SKIPPED, WARN) and row.same != EQUAL


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _names(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _model(console: Console, model: ModelResult) -> None:
    called = f", called {model.served_name} by clients" if model.served_name not in ("", model.name) else ""
    _line(console, f"Model {model.name}{called}: {', '.join([_count(len(model.pods), 'Pod'), *model.facts])}", "bold")
    for number, name in enumerate(model.pods, 1):
        node = model.nodes.get(name)
        _line(console, f"  Pod {number}  {name}" + (f"  on node {node}" if node else ""))
    if model.rows:
        _line(console, f"  Prompt  {_prompt(model)}")
        console.print(_table(model))
    for verdict, findings in ((FAIL, model.findings), (WARN, model.warnings), (SKIPPED, model.skips)):
        for finding in findings:
            _finding(console, model, verdict, finding)
    for note in [*model.notes, *_row_notes(model)]:
        _labelled(console, model, "note", note)
    if model.cold and model.cold.text is not None:
        _labelled(console, model, "answer", repr(model.cold.text))
    _line(console, "")


def _row_notes(model: ModelResult) -> list[str]:
    """Notes of rows that were measured; one that several rows share is said once."""
    notes = {row.note: [r for r in model.rows if r.note == row.note] for row in model.rows}
    return [
        f"{', '.join(model.place(r) for r in rows)}: {note}"
        for note, rows in notes.items()
        if note and rows[0].verdict != SKIPPED
    ]


def _prompt(model: ModelResult) -> str:
    tokens = f"{model.prompt_tokens} tokens that no cache has seen"
    if not model.chunk_size:
        return tokens
    chunks = full_chunks(model.prompt_tokens, model.chunk_size)
    size = model.chunk_size
    return f"{tokens}; LMCache can give {chunks * size}: {_count(chunks, 'whole chunk')} of {size}"


def _finding(console: Console, model: ModelResult, verdict: str, finding: Finding) -> None:
    """What, then the fix, then its commands, each on a line of its own."""
    _labelled(console, model, WORDS[verdict], finding.what.removeprefix(f"model {model.name}: "), STYLES[verdict])
    _labelled(console, model, "do", finding.fix)
    for command in finding.commands:
        _line(console, f"  {'':<{LABEL}}  {command}")


def _labelled(console: Console, model: ModelResult, label: str, text: str, style: str = "") -> None:
    """A word, and a sentence that hangs beside it."""
    # The longest first: one Pod's name may begin another's.
    for name in sorted(model.pods, key=len, reverse=True):
        text = text.replace(f"Pod {name}", f"Pod {model.pod_number(name)}")
    start = f"  {label:<{LABEL}}"
    lines = textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        _line(console, line, style)


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)


def _table(model: ModelResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)
    table.add_column("  prompt tokens from", no_wrap=True)
    for title in ("Pod", "TTFT ms", "vs cold", "L0", "L1", "L2"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("answer", no_wrap=True)
    table.add_column("result")
    for row in sorted(model.rows, key=lambda r: TIERS.index(r.tier)):
        table.add_row(*_cells(model, row))
    return table


def _cells(model: ModelResult, row: Row) -> list[str | Text]:
    verdict = WORDS[row.verdict] + (f": {row.why}" if row.why else "")
    return [
        f"  {TITLES[row.tier]}",
        str(model.pod_number(row.pod) or "-"),
        f"{row.ttft_ms:.0f}" if row.ttft_ms is not None else "-",
        # A tenth would hide how slow a slow one is.
        f"{row.ratio:.{1 if row.ratio >= 0.95 else 2}f}x" if row.ratio else "-",
        *_hits(row),
        row.same or "-",
        Text(verdict, style=STYLES[row.verdict]),
    ]


def _hits(row: Row) -> list[str]:
    """Tokens by tier; a number that may be of L1 or of L2 stands in both, marked."""
    hits = row.hits
    if hits is None:
        return ["-"] * 3
    if hits.either:
        return [f"{hits.l0:g}", f"{hits.either:g}?", f"{hits.either:g}?"]
    return [f"{hits.l0:g}", f"{hits.l1:g}", f"{hits.l2:g}"]
