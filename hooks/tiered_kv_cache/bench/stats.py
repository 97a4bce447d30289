"""Medians with their spread. Nothing is left out: an outlier moves the quartiles and the interval, as it should."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

RESAMPLES = 2000
CONFIDENCE = 0.95
LEAST = 4
"""Samples below which a bootstrapped interval would only pretend to know."""


@dataclass(frozen=True)
class Spread:
    """``n`` values in short. ``low`` and ``high``: 95 % interval of the median, None below LEAST values."""

    n: int
    median: float
    q1: float
    q3: float
    least: float
    most: float
    p90: float
    p99: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Ratio:
    """One median over another, with the same interval."""

    value: float
    low: float | None
    high: float | None


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) lies, between two samples in proportion. Raises ValueError for none."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    left = int(at)
    right = min(left + 1, len(ordered) - 1)
    return ordered[left] + (ordered[right] - ordered[left]) * (at - left)


def spread(values: Sequence[float], seed: int) -> Spread:
    """Median, quartiles, ends and interval of ``values``. Raises ValueError for none."""
    low, high = _interval(_medians(values, seed) if len(values) >= LEAST else ())
    return Spread(
        len(values), quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75), min(values), max(values),
        quantile(values, 0.9), quantile(values, 0.99), low, high,
    )  # fmt: skip


def ratio(above: Sequence[float], below: Sequence[float], seed: int) -> Ratio:
    """Median of ``above`` by that of ``below``, all values positive; both are resampled. Raises ValueError for none."""
    value = quantile(above, 0.5) / quantile(below, 0.5)
    if min(len(above), len(below)) < LEAST:
        return Ratio(value, None, None)
    # Another seed for the second, so that equal values do not vary together.
    pairs = zip(_medians(above, seed), _medians(below, seed + 1), strict=True)
    return Ratio(value, *_interval([a / b for a, b in pairs]))


def quotient(
    one: tuple[Sequence[float], Sequence[float]], other: tuple[Sequence[float], Sequence[float]], seed: int
) -> Ratio:
    """Of two ratios of medians, the first by the second; all values positive. Raises ValueError for none.

    For two measurements one after the other: what drifted on the machine between them is in both parts of each.
    """
    sets = (*one, *other)
    a, b, c, d = (quantile(each, 0.5) for each in sets)
    value = (a / b) / (c / d)
    if min(len(each) for each in sets) < LEAST:
        return Ratio(value, None, None)
    drawn = zip(*(_medians(each, seed + at) for at, each in enumerate(sets)), strict=True)
    return Ratio(value, *_interval([(a / b) / (c / d) for a, b, c, d in drawn]))


def _medians(values: Sequence[float], seed: int) -> tuple[float, ...]:
    """Medians of all resamples. Sorted first, so that the order in which values were measured changes nothing."""
    return _resampled(tuple(sorted(values)), seed)


@lru_cache(maxsize=2048)
def _resampled(ordered: tuple[float, ...], seed: int) -> tuple[float, ...]:
    # Kept: a run asks for the same ones in its table, in each ratio, in its verdict, and in each figure.
    dice = random.Random(seed)
    return tuple(median(dice.choices(ordered, k=len(ordered))) for _ in range(RESAMPLES))


def _interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    tail = (1 - CONFIDENCE) / 2
    return quantile(values, tail), quantile(values, 1 - tail)
