"""The judge of the oracle game finds what it should, and nothing in chance."""

from __future__ import annotations

import random

import pytest

from cluster.isolation.ranks import chi_square_p, p_value


def drawn(most: int) -> list[int]:
    """Fifty ranks by chance from 1 to ``most``."""
    draw = random.Random(5)
    return [draw.randint(1, most) for _ in range(50)]


def test_chance_is_chance() -> None:
    assert p_value(drawn(20), 20) > 0.05
    assert chi_square_p(drawn(20), 20) > 0.05


@pytest.mark.parametrize("ranks", [[1] * 5, [20] * 5, [1, 2] * 10, drawn(13)])
def test_a_leak_is_found(ranks: list[int]) -> None:
    assert p_value(ranks, 20) < 0.05


def test_a_rank_that_is_always_in_the_middle_is_none_of_chance() -> None:
    ranks = [10, 11] * 25
    assert p_value(ranks, 20) > 0.05
    assert chi_square_p(ranks, 20) < 0.001
