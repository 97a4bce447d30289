"""What must be true of medians, intervals and ratios whatever the values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiered_kv_cache.bench import stats

TIMES = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=30)
MANY = st.lists(st.floats(0.1, 1e6), min_size=stats.LEAST, max_size=20)
QUICK = settings(deadline=None, max_examples=15)


@QUICK
@given(TIMES, st.integers())
def test_order_of_the_parts(values: list[float], seed: int) -> None:
    s = stats.spread(values, seed)
    assert s.least <= s.q1 <= s.median <= s.q3 <= s.most and s.n == len(values)
    assert s.median <= s.p90 <= s.p99 <= s.most
    assert (s.low is None) == (len(values) < stats.LEAST)
    if s.low is not None and s.high is not None:
        assert s.least <= s.low <= s.high <= s.most


@QUICK
@given(MANY, st.randoms())
def test_the_order_of_measuring_changes_nothing(values: list[float], dice: object) -> None:
    shuffled = list(values)
    dice.shuffle(shuffled)  # type: ignore[attr-defined]
    assert stats.spread(values, 1) == stats.spread(shuffled, 1)


@QUICK
@given(MANY, MANY)
def test_ratios(above: list[float], below: list[float]) -> None:
    one, other = stats.ratio(above, below, 1), stats.ratio(below, above, 1)
    assert one.value * other.value == pytest.approx(1)
    assert one.low is not None and one.high is not None and one.low <= one.high
    doubled = stats.ratio([2 * v for v in above], below, 1)
    assert doubled.value == pytest.approx(2 * one.value) and doubled.low == pytest.approx(2 * one.low)


def test_known_values() -> None:
    s = stats.spread([1, 2, 3, 4, 100], 1)
    assert (s.median, s.q1, s.q3, s.most) == (3, 2, 4, 100)
    assert stats.spread([5.0] * 9, 1).low == stats.spread([5.0] * 9, 1).high == 5
    assert stats.ratio([2, 2, 2, 2], [1, 1, 1, 1], 1) == stats.Ratio(2, 2, 2)
    assert stats.ratio([2], [1], 1) == stats.Ratio(2, None, None)


def test_the_interval_covers_the_truth_most_of_the_time() -> None:
    import random  # noqa: PLC0415

    dice, covered = random.Random(3), 0
    for _ in range(60):
        s = stats.spread([dice.lognormvariate(0, 0.5) for _ in range(15)], 1)
        covered += (s.low or 0) <= 1 <= (s.high or 0)
    assert covered >= 51  # 95 % of 60 is 57; less than 85 % would be a broken interval.


def test_no_values() -> None:
    with pytest.raises(ValueError, match="no values"):
        stats.quantile([], 0.5)
