"""Rows of a check's table: what was seen, what was expected, how bad it is, and what to do about it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.table import Table

from .findings import Finding, shorten

OK, INFO, WARN, FAIL = SEVERITIES = ("ok", "info", "warn", "FAIL")
"""From good to bad. Only the last fails the release."""
WIDTH = 120
MOST_MESSAGE = 3000


@dataclass(frozen=True)
class Row:
    """``check``: short name, one of several rows may have it; ``finding``: where the severity is warn or FAIL."""

    check: str
    severity: str
    seen: str
    expected: str
    finding: Finding | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        found: dict[str, Any] = {
            "check": self.check,
            "severity": self.severity.lower(),
            "seen": self.seen,
            "expected": self.expected,
        }
        if self.finding:
            found |= {
                "what": self.finding.what,
                "fix": self.finding.fix,
                "commands": list(self.finding.commands),
            }
        return found


def good(rows: Sequence[Row]) -> bool:
    """Whether none of them fails the release."""
    return all(row.severity != FAIL for row in rows)


def summary(verb: str, rows: Sequence[Row], seconds: float) -> str:
    """One line."""
    names = {severity: sorted({row.check for row in rows if row.severity == severity}) for severity in (FAIL, WARN)}
    head = f"FAILED ({', '.join(names[FAIL])})" if names[FAIL] else "passed"
    read = f"; read: {', '.join(names[WARN])}" if names[WARN] else ""
    return f"{verb}: {head}{read}; {len(rows)} rows, {seconds:.0f} s"


def print_rows(verb: str, rows: Sequence[Row], seconds: float, out: IO[str]) -> None:
    """The table, below it what to do, worst first, and the summary at the end. Commands are never wrapped: people copy them."""
    console = Console(file=out, width=WIDTH, highlight=False, markup=False, no_color=None if out.isatty() else True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("check", "seen", "expected", "result"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(row.check, row.seen, row.expected, row.severity)
    console.print(table)
    for row in worst_first(rows):
        if row.finding:
            _wrapped(f"{row.severity:<8} {row.check}: {row.finding.what}", out)
            _wrapped(f"{'do':<8} {row.finding.fix}", out)
            for command in row.finding.commands:
                print(f"{'':<8} {command}", file=out)
    print(summary(verb, rows, seconds), file=out, flush=True)


def to_json(verb: str, rows: Sequence[Row], seconds: float) -> dict[str, Any]:
    """All of it."""
    return {
        "ok": good(rows),
        "summary": summary(verb, rows, seconds),
        "seconds": round(seconds, 1),
        "checks": [row.to_json() for row in rows],
    }


def message(verb: str, rows: Sequence[Row], seconds: float) -> str:
    """For the Pod's status: the summary, then what failed before the rest, as far as there is room."""
    lines = [summary(verb, rows, seconds)]
    for row in worst_first(rows):
        if row.finding:
            line = f"{row.severity}: {row.check}: {shorten(str(row.finding), 500)}"
            if len("\n".join([*lines, line])) > MOST_MESSAGE:
                break
            lines.append(line)
    return "\n".join(lines)


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """In their order, but those that fail before those that warn."""
    return sorted(rows, key=lambda row: -SEVERITIES.index(row.severity))


def _wrapped(text: str, out: IO[str]) -> None:
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False)
    print("\n".join(lines), file=out)
