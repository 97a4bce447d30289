"""Medians and ratios from a record. Nothing here is stored that cannot be worked out again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from .record import AGAIN, COLD, CONTROL, FIRST, L0, L1, L2, OTHER, OWN, SHARED, WARM, Key, Record, Sample, usable
from .settings import DIALOGUE, LOAD, MIX, REPLAY, SWEEP
from .stats import Ratio, Spread, ratio, spread

TTFT, TOTAL, GAP = "ttft_ms", "total_ms", "gap_ms"
CONDITIONS = (COLD, CONTROL, L2, OWN, L1, L0, OTHER, WARM, FIRST, AGAIN, SHARED)
TOTALS = 0
"""Turn of the sums over all turns of a dialogue."""
RATIOS = {
    SWEEP: ((COLD, L2), (COLD, OWN), (COLD, OTHER), (COLD, L1), (COLD, L0), (COLD, WARM), (L2, L1), (COLD, CONTROL)),
    DIALOGUE: ((FIRST, AGAIN), (COLD, AGAIN), (COLD, FIRST)),
    LOAD: ((COLD, SHARED),),
    MIX: ((COLD, SHARED),),
    REPLAY: ((FIRST, AGAIN),),
}
"""Experiment -> pairs of which the first is divided by the second: above 1, the second is faster."""


@dataclass(frozen=True)
class Cell:
    """All samples of one key. ``disproven``: those of which counters say that another tier answered; they do not count.

    ``gap``: of one token to the next, None for single tokens.
    """

    key: Key
    ttft: Spread | None
    total: Spread | None
    gap: Spread | None
    tokens: tuple[float, ...] | None
    disproven: int
    errors: int


@dataclass(frozen=True)
class Compared:
    """A ratio of two conditions at the same size, turn and load."""

    key: Key
    above: str
    below: str
    ratio: Ratio


def cells(record: Record) -> list[Cell]:
    """One for each key, by experiment, size, turn, loop, load and condition."""
    groups: dict[Key, list[Sample]] = defaultdict(list)
    for sample in record.samples:
        if sample.key.condition in CONDITIONS:
            groups[sample.key].append(sample)
    return [_cell(key, groups[key], record.seed) for key in sorted(groups, key=_place)]


def _place(key: Key) -> tuple[str, str, float, float, float, int]:
    order = CONDITIONS.index(key.condition)
    return key.experiment, key.loop or "", key.load or 0, key.size or 0, key.turn or 0, order


def _cell(key: Key, samples: list[Sample], seed: int) -> Cell:
    good = [s for s in samples if usable(s)]
    counted = [s.tokens for s in good if s.tokens]
    middle = None
    if counted:
        middle = tuple(spread([getattr(t, f) for t in counted], seed).median for f in ("l0", "l1", "l2", "either"))
    return Cell(
        key,
        _spread([s.ttft_ms for s in good], seed),
        _spread([s.total_ms for s in good], seed),
        _spread(list(chain.from_iterable(s.gaps_ms for s in good)), seed),
        middle,
        sum(s.proven is False for s in samples),
        sum(bool(s.error) for s in samples),
    )


def _spread(values: Iterable[float | None], seed: int) -> Spread | None:
    found = [v for v in values if v is not None]
    return spread(found, seed) if found else None


def values(record: Record, key: Key, metric: str = TTFT) -> list[float]:
    """The usable values of a key, in milliseconds; of turn TOTALS, the sums of all turns of each dialogue."""
    samples = [s for s in record.samples if usable(s)]
    if key.turn == TOTALS:
        return _sums(record, key, metric)
    return [v for s in samples if s.key == key for v in _of(s, metric)]


def _of(sample: Sample, metric: str) -> list[float]:
    if metric == GAP:
        return list(sample.gaps_ms)
    found = sample.ttft_ms if metric == TTFT else sample.total_ms
    return [] if found is None else [found]


def _sums(record: Record, key: Key, metric: str) -> list[float]:
    """Only of dialogues that are whole: one without a slow turn would look fast."""
    turns: dict[int, dict[int, float]] = defaultdict(dict)
    wanted = set()
    for sample in record.samples:
        if sample.key.experiment == key.experiment and sample.key.turn:
            wanted.add(sample.key.turn)
            if sample.key.condition == key.condition and usable(sample):
                turns[sample.repetition][sample.key.turn] = sum(_of(sample, metric))
    return [sum(each.values()) for each in turns.values() if set(each) == wanted]


def compare(
    above: Callable[[Key], list[float]], below: Callable[[Key], list[float]], key: Key, other: Key, seed: int
) -> Ratio | None:
    """The ratio of two keys; None if one has no samples."""
    a, b = above(key), below(other)
    return ratio(a, b, seed) if a and b else None


def ratios(record: Record, metric: str = TTFT) -> list[Compared]:
    """All pairs of RATIOS at all sizes, turns and loads that have both; dialogues also in sum (turn TOTALS)."""
    found = []
    places = sorted({_without(s.key) for s in record.samples}, key=lambda k: _place(_with(k, COLD)))
    places += [Key(DIALOGUE, "", None, TOTALS)]
    for place in places:
        for above, below in RATIOS[place.experiment]:
            made = compare(
                lambda k: values(record, k, metric), lambda k: values(record, k, metric),
                _with(place, above), _with(place, below), record.seed,
            )  # fmt: skip
            if made:
                found.append(Compared(place, above, below, made))
    return found


def _without(key: Key) -> Key:
    return _with(key, "")


def _with(key: Key, condition: str) -> Key:
    return Key(key.experiment, condition, key.size, key.turn, key.loop, key.load)
