"""The result for people: one table for both Pods, below it what to do, and a short message for the Pod's status."""

from __future__ import annotations

import textwrap
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table

from ..findings import shorten
from .checks import FAIL
from .result import Result

WIDTH = 110
MOST_MESSAGE = 1000


def print_result(result: Result, out: IO[str]) -> None:
    """Print it."""
    console = Console(file=out, width=WIDTH, highlight=False, markup=False, no_color=None if out.isatty() else True)
    job = result.job
    print(f"L2 volume {job.directory}: {job.volume_type}, {result.mounted or 'not mounted'}", file=out)
    for index, node in sorted(result.nodes.items()):
        print(f"  Pod {index} on node {node or 'unknown'}", file=out)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("check", "Pod 0", "Pod 1", "result"):
        table.add_column(title, overflow="fold")
    for name, both, verdict in result.rows():
        table.add_row(name, *(both[index].shown if index in both else "-" for index in (0, 1)), verdict)
    console.print(table)
    for verdict, finding in result.findings():
        wrapped(f"{verdict:<8} {finding.what}", out)
        wrapped(f"{'do':<8} {finding.fix}", out)
    print(result.summary(), file=out, flush=True)


def message(result: Result) -> str:
    """For the Pod's status: the summary, and what failed before the rest."""
    lines = [result.summary()]
    for verdict, finding in result.findings():
        line = f"{verdict}: {shorten(str(finding), 400)}"
        if len("\n".join([*lines, line])) > MOST_MESSAGE and verdict != FAIL:
            break
        lines.append(line)
    return "\n".join(lines)


def wrapped(text: str, out: IO[str]) -> None:
    """Print a sentence that hangs beside its first word."""
    print("\n".join(textwrap.wrap(text, WIDTH, subsequent_indent=" " * 9, break_long_words=False)), file=out)
