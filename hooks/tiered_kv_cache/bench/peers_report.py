"""Several L2 side by side: the table and the figure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from . import figures, report
from .judge import SOUND, UNSOUND
from .peers import OTHER_POD, OWN_POD, Peers, Row
from .stats import Ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("L2", "read by", "tokens", "hits", "TTFT hit ms", "quartiles", "cold ms", "hit/cold", "95 %", "ours/this", "95 %",
           "from L2", "cold, whole answer, by no L2", "95 %")  # fmt: skip
NO_HIT = "no hit"


def print_peers(found: Peers, to: Console) -> None:
    """Rows by size, what is missing, and the verdict."""
    to.print(
        report.grid(
            "L2 side by side: medians; ratios below 1 are faster",
            COLUMNS,
            [_cells(row) for row in _ordered(found.rows)],
        )
    )
    for each in found.missing:
        to.print(Text(f"  not measured  {each.peer}: {each.why}", style="dim"), soft_wrap=True)
    to.print(report.judgements(found.verdict.judgements))
    to.print(
        Text(found.verdict.summary, style=report.STYLES[SOUND if found.verdict.sound else UNSOUND]), soft_wrap=True
    )


def text(found: Peers) -> str:
    """The same as plain text."""
    out = io.StringIO()
    print_peers(found, report.console(out, wide=True))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.size, reverse=True)


def _cells(row: Row) -> tuple[str, ...]:
    hits = f"{row.n} of {row.asked}" if row.asked else "-"
    shown = f"{row.hit.median:.0f}" if row.hit else NO_HIT if row.asked else "-"
    given = f"{row.tokens:g}" if row.tokens is not None else "-"
    return (
        row.peer, row.how, str(row.size), hits, shown, f"{row.hit.q1:.0f} … {row.hit.q3:.0f}" if row.hit else "-",
        f"{row.cold.median:.0f}" if row.cold else "-", *_ratio(row.part), *_ratio(row.ours), given,
        *_ratio(row.store),
    )  # fmt: skip


def _ratio(found: Ratio | None) -> tuple[str, str]:
    return (f"{found.value:.3f}", report.interval(found)) if found else ("-", "-")


def draw(found: Peers, folder: Path) -> list[Path]:
    """``peers`` as SVG and PNG; none where there is no hit. Raises figures.NoMatplotlib or OSError."""
    told = f"{found.records[0].model.get('served_name')}, one run of each after the other" if found.records else ""
    return figures.save(lambda axes: _bars(axes, found.rows), folder, "peers", told)


def _bars(axes: Axes, rows: Sequence[Row]) -> None:
    """The part of its own cold that a hit takes, by size and L2, with its interval."""
    shown = [row for row in rows if row.part]
    names = list(dict.fromkeys((row.peer, row.how) for row in shown))
    sizes = sorted({row.size for row in shown})
    width = 0.8 / max(1, len(names))
    for at, (peer, how) in enumerate(names):
        mine = [row for row in shown if (row.peer, row.how) == (peer, how)]
        parts = [row.part for row in mine if row.part]
        where = [sizes.index(row.size) + (at - (len(names) - 1) / 2) * width for row in mine]
        low = [max(0.0, p.value - p.low) if p.low is not None else 0.0 for p in parts]
        high = [max(0.0, p.high - p.value) if p.high is not None else 0.0 for p in parts]
        label = peer if how == OTHER_POD else f"{peer} ({OWN_POD})"
        axes.bar(where, [p.value for p in parts], width * 0.92, yerr=[low, high], capsize=2, label=label)
    if shown:
        axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
        axes.axhline(1, color="#777777", linewidth=0.8)
    axes.set_title("TTFT of a hit by that of the same run's cold (medians; bars: 95 % interval)", fontsize=9)
    axes.set_xlabel("prompt tokens")
    axes.set_ylabel("TTFT hit / TTFT cold")
