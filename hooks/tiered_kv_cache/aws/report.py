"""The result for people: a table, each change with the call that makes it, and what to do; a short message for the Pod's status."""

from __future__ import annotations

import json
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table

from ..findings import shorten
from ..storage.report import WIDTH, wrapped
from .result import CHANGED, WOULD_CHANGE, Result

MOST_MESSAGE = 3000


def print_result(result: Result, out: IO[str]) -> None:
    """Print it."""
    if result.who:
        print(f"as {result.who}", file=out)
    if result.steps:
        console = Console(file=out, width=WIDTH, highlight=False, markup=False, no_color=None if out.isatty() else True)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for title in ("step", "seen", "result"):
            table.add_column(title, overflow="fold")
        for step in result.steps:
            table.add_row(step.name, step.shown, step.state)
        console.print(table)
    for step in result.steps:
        if not step.changes:
            continue
        print(f"{step.name}: {'changed' if step.state == CHANGED else 'difference'}", file=out)
        for change in step.changes:
            wrapped(f"         {change}", out)
        if step.call and step.state == WOULD_CHANGE:
            # Never wrapped: people copy it.
            parameters = json.dumps(step.call.parameters, sort_keys=True)
            print(f"{'call':<8} {step.call.service}:{step.call.operation} {parameters}", file=out)
    for verdict, finding in result.all_findings():
        wrapped(f"{verdict:<8} {finding.what}", out)
        wrapped(f"{'do':<8} {finding.fix}", out)
        for command in finding.commands:
            print(f"{'':<8} {command}", file=out)
    print(result.summary(), file=out, flush=True)


def message(result: Result) -> str:
    """For the Pod's status: the summary, and what failed before the rest."""
    lines = [result.summary()]
    for verdict, finding in result.all_findings():
        lines.append(f"{verdict}: {shorten(str(finding), 500)}")
    return "\n".join(lines)[:MOST_MESSAGE]
