"""The text check as a table."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from ..findings import shorten
from ..verify.result import EQUAL, NEAR_TIE, UNSURE, WRONG
from .record import CONTROL
from .texts import Row, Texts


def print_texts(found: Texts, to: Console) -> None:
    """A row for each tier and level, then what differs."""
    table = Table(
        box=box.SIMPLE, title=f"greedy texts beside a cold answer's; engine's dtype {found.dtype}", title_justify="left"
    )
    for name in (
        "tier",
        "at once",
        "answers",
        "equal",
        "near tie",
        "wrong",
        "unsure",
        "tokens given",
        "drift",
        "",
    ):
        table.add_column(name, justify="left" if name in ("tier", "") else "right")
    for row in found.rows:
        table.add_row(*_cells(row))
    to.print(table)
    for each in found.differences:
        gap = "" if each.gap is None else f", {each.gap:.4f} better"
        to.print(f"{each.same}: {each.tier}, {each.at_once} at once, {each.size} tokens: token {each.at}{gap}: "
                 f"{shorten(each.cold, 60)!r} / {shorten(each.other, 60)!r}", soft_wrap=True)  # fmt: skip
    to.print(f"texts: {'passed' if found.passed else 'FAILED'}")


def _cells(row: Row) -> tuple[str, ...]:
    share = "0" if row.tier == CONTROL and not row.given else f"{row.given:g} of {row.wanted:g}"
    verdict = "passed" if row.passed else "FAILED" if row.hits else "FAILED: no hits"
    counts = (row.counts[kind] for kind in (EQUAL, NEAR_TIE, WRONG, UNSURE))
    return (row.tier, str(row.at_once), str(row.answers), *(str(n) for n in counts), share, f"{row.drift:.6f}", verdict)
