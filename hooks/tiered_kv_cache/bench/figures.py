"""Figures as SVG and PNG, ours beside what is published. Needs matplotlib, which the package's extra ``bench`` brings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import published
from .record import AGAIN, CLOSED, COLD, CONTROL, FIRST, L0, L1, L2, OPEN, OTHER, OWN, SHARED, WARM, Record
from .settings import DIALOGUE, LOAD, MIX, REPLAY, SWEEP
from .summary import TOTAL, TOTALS, Cell, Compared, cells, ratios

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {COLD: "#c0392b", CONTROL: "#e6a09a", L2: "#1f77b4", OWN: "#17becf", OTHER: "#1f77b4", L1: "#2ca02c",
           L0: "#7f7f7f", WARM: "#7f7f7f",
           FIRST: "#c0392b", AGAIN: "#1f77b4", SHARED: "#1f77b4"}  # fmt: skip
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bench",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
"""Text stays text in SVG, and the same figures make the same bytes."""
SIZE = (7.0, 4.2)


class NoMatplotlib(Exception):
    """matplotlib is not installed; the message says how it is."""


def draw(record: Record, folder: Path) -> list[Path]:
    """Draw what was measured into ``folder``; returns the files. Raises NoMatplotlib or OSError."""
    found, compared = cells(record), ratios(record)
    parts: dict[str, tuple[str, Callable[[Axes], None]]] = {
        "speedup": (SWEEP, lambda axes: _speedup(axes, compared)),
        "ttft": (SWEEP, lambda axes: _ttft(axes, found)),
        "dialogue": (DIALOGUE, lambda axes: _dialogue(axes, found, ratios(record, TOTAL))),
        "load-closed": (LOAD, lambda axes: _load(axes, found, CLOSED)),
        "load-open": (LOAD, lambda axes: _load(axes, found, OPEN)),
        "mix": (MIX, lambda axes: _rounds(axes, found, MIX, (COLD, SHARED))),
        "replay": (REPLAY, lambda axes: _rounds(axes, found, REPLAY, (FIRST, AGAIN))),
    }
    files = []
    for name, (experiment, paint) in parts.items():
        if any(c.key.experiment == experiment and c.ttft for c in found):
            files += save(paint, folder, name, f"{record.variant}, {record.model.get('served_name')}")
    return files


def save(paint: Callable[[Axes], None], folder: Path, name: str, told: str) -> list[Path]:
    """One figure as SVG and PNG, ``told`` in its corner; none where nothing was painted. Raises NoMatplotlib or OSError."""
    try:
        import matplotlib as mpl  # noqa: PLC0415

        # Without pyplot: it keeps every figure, and looks for a screen.
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as err:
        raise NoMatplotlib(
            "no figures without matplotlib. Fix: pip install 'tiered-kv-cache[bench]', then bench report"
        ) from err
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots()
        paint(axes)
        if not axes.has_data():
            return []
        figure.text(0.99, 0.01, told, ha="right", fontsize=7, color="#777777")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
        files = [folder / f"{name}.svg", folder / f"{name}.png"]
        figure.savefig(files[0], metadata={"Date": None})
        figure.savefig(files[1], dpi=150, metadata={"Software": None})
    return files


def _speedup(axes: Axes, compared: Sequence[Compared]) -> None:
    """How many times as fast an L2 hit is, ours with its interval, theirs as published."""
    for below, label in ((L2, "L2, from another Pod"), (OTHER, "another endpoint"), (CONTROL, "cold again (control)")):
        mine = [c for c in compared if c.key.experiment == SWEEP and (c.above, c.below) == (COLD, below)]
        if not mine:
            continue
        sizes, colour = [float(c.key.size or 0) for c in mine], COLOURS[below]
        axes.plot(sizes, [c.ratio.value for c in mine], "o-", color=colour, label=f"ours: {label}")
        sure = [c for c in mine if c.ratio.low is not None]
        axes.fill_between([float(c.key.size or 0) for c in sure], [c.ratio.low or 0 for c in sure],
                          [c.ratio.high or 0 for c in sure], color=colour, alpha=0.2, linewidth=0)  # fmt: skip
    theirs = published.SPEEDUP
    axes.plot(
        [float(s) for s in theirs], list(theirs.values()), "s--", color="black", label=f"published: {published.SOURCE}"
    )
    axes.axhline(1, color="#777777", linewidth=0.8)
    _name(
        axes, "How many times as fast as cold (medians; band: 95 % interval)", "prompt tokens", "TTFT cold / TTFT hit"
    )


def _ttft(axes: Axes, found: Sequence[Cell]) -> None:
    for condition in (COLD, CONTROL, L2, OWN, OTHER, L1, L0, WARM):
        _line(axes, [c for c in found if c.key.experiment == SWEEP and c.key.condition == condition],
              lambda c: float(c.key.size or 0), condition)  # fmt: skip
    axes.set_yscale("log")
    _name(axes, "TTFT by size and tier (medians; bars: quartiles)", "prompt tokens", "TTFT, ms")


def _dialogue(axes: Axes, found: Sequence[Cell], totals: Sequence[Compared]) -> None:
    for shift, condition in ((-0.25, COLD), (0.0, FIRST), (0.25, AGAIN)):
        mine = [c for c in found if c.key.experiment == DIALOGUE and c.key.condition == condition and c.total]
        at = [(c.key.turn or 0) + shift for c in mine]
        axes.bar(at, [c.total.median for c in mine if c.total], 0.23, yerr=_bars(mine, "total"), label=condition,
                 color=COLOURS[condition], alpha=0.5 if condition == COLD else 1.0, capsize=2)  # fmt: skip
    ours = [c.ratio.value for c in totals if c.key.turn == TOTALS and (c.above, c.below) == (FIRST, AGAIN)]
    said = f"first/again in sum: ours {ours[0]:.2f}x" if ours else "first/again in sum: not measured"
    axes.locator_params(axis="x", integer=True)
    _name(axes, f"Dialogue of four turns; {said}, published {published.DIALOGUE:.2f}x", "turn", "whole answer, ms")


def _load(axes: Axes, found: Sequence[Cell], loop: str) -> None:
    for condition in (COLD, SHARED):
        mine = [c for c in found if c.key.experiment == LOAD and c.key.loop == loop and c.key.condition == condition]
        _line(axes, mine, lambda c: c.key.load or 0, condition)
        tail = [c for c in mine if c.ttft]
        axes.plot([c.key.load or 0 for c in tail], [c.ttft.p90 for c in tail if c.ttft], ":", color=COLOURS[condition],
                  label=f"{condition}, p90" if tail else None)  # fmt: skip
    if axes.has_data():
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
    what = "requests at once" if loop == CLOSED else "requests a second"
    _name(axes, f"TTFT under load, {loop} loop (medians; bars: quartiles)", what, "TTFT, ms")


def _rounds(axes: Axes, found: Sequence[Cell], experiment: str, conditions: Sequence[str]) -> None:
    for condition in conditions:
        _line(axes, [c for c in found if c.key.experiment == experiment and c.key.condition == condition],
              lambda c: float(c.key.turn or 0), condition)  # fmt: skip
    axes.locator_params(axis="x", integer=True)
    _name(axes, f"{experiment}: TTFT by round (medians; bars: quartiles)", "round", "TTFT, ms")


def _line(axes: Axes, mine: Sequence[Cell], x: Callable[[Cell], float], label: str) -> None:
    mine = [c for c in mine if c.ttft]
    if mine:
        axes.errorbar([x(c) for c in mine], [c.ttft.median for c in mine if c.ttft], yerr=_bars(mine, "ttft"), fmt="o-",
                      color=COLOURS[label], label=label, capsize=2)  # fmt: skip


def _bars(mine: Sequence[Cell], what: str) -> Any:
    spreads = [getattr(c, what) for c in mine]
    return [[s.median - s.q1 for s in spreads], [s.q3 - s.median for s in spreads]]


def _name(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
