"""Whether ranks are those of chance: the judge of the oracle game, without a cluster."""

from __future__ import annotations

import random
from collections.abc import Sequence

DRAWS = 20_000


def p_value(ranks: Sequence[int], of: int, seed: int = 0) -> float:
    """How likely ranks of 1 to ``of`` are by chance as low in sum, or as far from it, as these: twice the smaller tail.

    By drawing as many uniform ranks DRAWS times; no more exact than 1 / DRAWS.
    """
    draw, seen = random.Random(seed), sum(ranks)
    sums = [sum(draw.randint(1, of) for _ in ranks) for _ in range(DRAWS)]
    low = sum(each <= seen for each in sums) + 1
    high = sum(each >= seen for each in sums) + 1
    return min(1.0, 2 * min(low, high) / (DRAWS + 1))


def chi_square_p(ranks: Sequence[int], of: int, bins: int = 4, seed: int = 0) -> float:
    """The same of Pearson's statistic of ``bins`` equal parts: a rank that is often in the middle shows here."""
    draw = random.Random(seed)

    def statistic(values: Sequence[int]) -> float:
        counts = [0] * bins
        for value in values:
            counts[(value - 1) * bins // of] += 1
        expected = len(values) / bins
        return sum((count - expected) ** 2 / expected for count in counts)

    seen = statistic(ranks)
    more = sum(statistic([draw.randint(1, of) for _ in ranks]) >= seen - 1e-9 for _ in range(DRAWS))
    return (more + 1) / (DRAWS + 1)
