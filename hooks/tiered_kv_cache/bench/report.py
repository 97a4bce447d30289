"""Tables for people: a table of medians for each experiment, the ratios, what was not measured, and the verdict."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..findings import UsageError, shorten
from .judge import MISSED, NOT_MEASURED, OPEN_QUESTION, REACHED, SOUND, UNSOUND, Judgement, Verdict, judge
from .record import Key, Level, Record
from .settings import EXPERIMENTS
from .stats import Ratio, Spread
from .summary import TOTAL, TOTALS, TTFT, Cell, cells, compare, ratios, values

WIDTH = 120
WIDE = 170
STYLES = {
    REACHED: "green",
    SOUND: "green",
    MISSED: "bold red",
    UNSOUND: "bold red",
    OPEN_QUESTION: "yellow",
    NOT_MEASURED: "dim",
}


def console(out: IO[str], wide: bool = False) -> Console:
    """One for logs and terminals: a log keeps no colours. ``wide``: for tables of many columns."""
    return Console(
        file=out, width=WIDE if wide else WIDTH, highlight=False, markup=False, no_color=None if out.isatty() else True
    )


def text(record: Record) -> str:
    """All tables as plain text."""
    out = io.StringIO()
    print_record(record, console(out))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def print_record(record: Record, to: Console) -> Verdict:
    """Print everything; returns the verdict."""
    verdict = judge(record)
    all_cells, all_ratios = cells(record), ratios(record)
    to.print(
        Text(
            f"variant {record.variant}: model {record.model.get('served_name')}, {len(record.places)} places",
            style="bold",
        )
    )
    for place in record.places:
        way = f", {place.path_ms:.1f} ms of it the way there" if place.path_ms is not None else ""
        to.print(Text(f"  {place.name}" + (f" on node {place.node}" if place.node else "") + way), soft_wrap=True)
    for experiment in EXPERIMENTS:
        mine = [c for c in all_cells if c.key.experiment == experiment]
        if mine:
            to.print(_medians(experiment, mine))
        levels = [level for level in record.levels if level.key.experiment == experiment]
        if levels:
            to.print(_levels(experiment, levels))
        pairs = [r for r in all_ratios if r.key.experiment == experiment]
        if pairs:
            to.print(grid(f"{experiment}: ratios of TTFT medians", ("where", "ratio", "value", "95 %"), [
                (place_of(r.key), f"{r.above}/{r.below}", f"{r.ratio.value:.2f}", interval(r.ratio)) for r in pairs
            ]))  # fmt: skip
    for gap in record.gaps:
        to.print(Text(f"  not measured  {gap.experiment}, {gap.what}: {gap.why}", style="dim"), soft_wrap=True)
    to.print(judgements(verdict.judgements))
    to.print(Text(verdict.summary, style=STYLES[SOUND if verdict.sound else UNSOUND]), soft_wrap=True)
    return verdict


def _medians(experiment: str, found: Sequence[Cell]) -> Table:
    columns = (
        "where",
        "prompt from",
        "n",
        "TTFT ms",
        "quartiles",
        "p99",
        "95 % of median",
        "gap ms",
        "L0",
        "L1",
        "L2",
        "left out",
    )
    return grid(experiment, columns, [
        (
            place_of(c.key), c.key.condition, str(c.ttft.n if c.ttft else 0), *_times(c.ttft),
            f"{c.gap.median:.1f}" if c.gap else "-", *_tokens(c), str(c.disproven + c.errors or ""),
        )
        for c in found
    ])  # fmt: skip


def _levels(experiment: str, found: Sequence[Level]) -> Table:
    """Throughput and hit tokens of all requests of a level together: beside others no request has counters of its own."""
    tiers = ("L0", "L1", "L2", "L1 or L2", "computed")
    columns = ("where", "prompts", "requests", "errors", "requests/s", "tokens/s", *tiers, "")
    rows = []
    for level in found:
        seconds, t = max(level.seconds, 1e-9), level.tokens
        counted = [f"{n:g}" for n in (t.l0, t.l1, t.l2, t.either, t.computed)] if t else ["-"] * len(tiers)
        rows.append([place_of(level.key), level.key.condition, str(level.requests), str(level.errors),
                     f"{level.requests / seconds:.2f}", f"{level.output_tokens / seconds:.1f}", *counted,
                     "saturated" if level.saturated else ""])  # fmt: skip
    return grid(f"{experiment}: all requests of a level together", columns, rows)


def _times(spread: Spread | None) -> tuple[str, str, str, str]:
    if spread is None:
        return "-", "-", "-", "-"
    ends = f"{spread.low:.0f} … {spread.high:.0f}" if spread.low is not None else "-"
    return f"{spread.median:.1f}", f"{spread.q1:.0f} … {spread.q3:.0f}", f"{spread.p99:.0f}", ends


def _tokens(cell: Cell) -> tuple[str, str, str]:
    if cell.tokens is None:
        return "-", "-", "-"
    l0, l1, l2, either = cell.tokens
    if either:
        return f"{l0:g}", f"{either:g}?", f"{either:g}?"
    return f"{l0:g}", f"{l1:g}", f"{l2:g}"


def judgements(found: Sequence[Judgement]) -> Table:
    """Question by question."""
    table = grid("verdict", ("question", "answer", "value", "95 %", ""), [])
    for each in found:
        table.add_row(
            each.question, Text(each.verdict, style=STYLES[each.verdict]), f"{each.ratio.value:.2f}" if each.ratio else "-",
            interval(each.ratio), shorten(each.why, 200),
        )  # fmt: skip
    return table


def grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """As all of these tables look: the first two columns are names, the others numbers."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 2 or column == "" else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def interval(ratio: Ratio | None) -> str:
    """The interval of a ratio, for a cell."""
    return f"{ratio.low:.2f} … {ratio.high:.2f}" if ratio and ratio.low is not None and ratio.high is not None else "-"


def place_of(key: Key) -> str:
    """Size, turn and load of a key in words."""
    parts = ["all turns" if key.turn == TOTALS else f"turn {key.turn}" if key.turn else ""]
    parts += [f"{key.load:g} {'at once' if key.loop == 'closed' else 'a second'}" if key.load else ""]
    parts += [f"{key.size} tokens" if key.size else ""]
    return ", ".join(p for p in parts if p)


def print_compared(records: Sequence[Record], to: Console) -> None:
    """Ratios of every record's medians by the first one's, key by key; below 1 the later one is faster. Raises UsageError."""
    base = records[0]
    to.print(Text(f"TTFT of each variant by that of {base.variant}; below 1: faster than it", style="bold"))
    for other in records[1:]:
        for line in differences(base, other):
            to.print(Text(f"  warning  {other.variant}: {line}", style="yellow"), soft_wrap=True)
    keys = [c.key for c in cells(base)] + [Key("dialogue", c, None, TOTALS) for c in ("cold", "first", "again")]
    rows = []
    for key in keys:
        metric = TOTAL if key.turn == TOTALS else TTFT
        row = [f"{key.experiment} {key.condition}", place_of(key)]
        for other in records[1:]:
            found = compare(lambda k, r=other, m=metric: values(r, k, m),  # type: ignore[misc]
                            lambda k, m=metric: values(base, k, m), key, key, base.seed)  # type: ignore[misc]  # fmt: skip
            row += [f"{found.value:.2f}" if found else "-", interval(found)]
        if any(cell != "-" for cell in row[2:]):
            rows.append(row)
    if not rows:
        raise UsageError(
            "the results have nothing in common. Fix: compare runs with the same experiments, sizes and loads"
        )
    columns = [c for r in records[1:] for c in (r.variant, "95 %")]
    to.print(grid("", ("what", "where", *columns), rows))


def differences(one: Record, other: Record) -> list[str]:
    """What makes two results hard to compare."""
    found = []
    for name, a, b in (("model", one.model, other.model), ("client", one.client, other.client)):
        for key in sorted(a.keys() | b.keys()):
            if a.get(key) != b.get(key):
                found.append(f"{name} {key} is {b.get(key)}, and {a.get(key)} in {one.variant}")
    for key in ("output_tokens", "shared", "load_size", "users"):
        if one.settings.get(key) != other.settings.get(key):
            found.append(f"{key} is {other.settings.get(key)}, and {one.settings.get(key)} in {one.variant}")
    return found


def write(record: Record, folder: Path) -> None:
    """Leave table.txt. Raises OSError."""
    (folder / "table.txt").write_text(text(record), encoding="utf-8")
