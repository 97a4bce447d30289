"""What a chunk costs the engine is learnt from the time between a lookup that misses and the store of the same chunks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tiered_kv_cache.l2 import errors
from tiered_kv_cache.l2.recompute import CHUNKS, LEAST_SAMPLES, Recompute

from .tiers import Fault, Hang, bench, until


class Engine:
    """Requests on a clock of their own."""

    def __init__(self, given: float = 0.0) -> None:
        self.now = 0.0
        self.cost = Recompute(given, lambda: self.now)
        self._number = 0

    def request(self, chunks: int, seconds: float, steps: int = 1) -> None:
        """A lookup that misses, then stores in so many steps, evenly over `seconds`."""
        names = [f"{self._number}-{at}" for at in range(chunks)]
        self._number += 1
        self.cost.missed(names)
        for step in range(steps):
            self.now += seconds / steps
            self.cost.stored(names[step * chunks // steps : (step + 1) * chunks // steps])


@pytest.mark.parametrize("steps", [1, 4])
def test_it_is_learnt_from_requests(steps: int) -> None:
    engine = Engine()
    for _ in range(LEAST_SAMPLES):
        engine.request(4, 1.0, steps)
    assert engine.cost.ms_per_chunk == pytest.approx(250.0)


def test_few_requests_say_nothing() -> None:
    engine = Engine()
    for _ in range(LEAST_SAMPLES - 1):
        engine.request(4, 1.0)
    assert engine.cost.ms_per_chunk == 0


def test_requests_that_waited_or_computed_nothing_do_not_count_for_much() -> None:
    engine = Engine()
    for _ in range(7):
        engine.request(4, 1.0)
    for seconds in (60.0, 60.0, 0.001):
        engine.request(4, seconds)
    assert engine.cost.ms_per_chunk == pytest.approx(250.0)


def test_a_given_figure_stays() -> None:
    engine = Engine(given=40.0)
    for _ in range(LEAST_SAMPLES):
        engine.request(4, 1.0)
    assert engine.cost.ms_per_chunk == 40.0


def test_what_nobody_looked_up_says_nothing() -> None:
    cost = Recompute()
    for at in range(LEAST_SAMPLES):
        cost.stored([str(at)])
    assert cost.ms_per_chunk == 0


def test_what_is_never_stored_is_forgotten() -> None:
    cost = Recompute()
    for at in range(4):
        cost.missed([f"{at}-{place}" for place in range(CHUNKS // 2)])
    assert len(cost._missed) == CHUNKS


def numbers(request: int) -> Sequence[int]:
    return range(10 * request, 10 * request + 2)


def test_a_load_ends_when_computing_would_have_been_as_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a figure from a person: by default a load might take 20 s here."""
    with bench(tmp_path, load_floor_ms=1.0) as b:
        for request in range(LEAST_SAMPLES):
            b.lookup(*numbers(request))
            b.store(*numbers(request))
        learnt = b.tier.recompute.ms_per_chunk
        assert learnt > 0
        assert b.tier.status()["recompute_ms_per_chunk"] == round(learnt, 1)
        assert b.tier.reader.allowed(1 << 20, 3) == pytest.approx(3 * learnt / 1000)
        hang = Hang()
        Fault(monkeypatch, "preadv", str(b.file(0)), hang)
        try:
            assert set(b.load(0)) <= {errors.DEADLINE, errors.BREAKER}
            # A probe of another object may have closed it since.
            until(
                lambda: b.value("breaker_opened_total", breaker="read", cause=errors.DEADLINE) == 1, "the breaker opens"
            )
        finally:
            hang.released.set()


def test_only_what_stands_behind_the_first_gap_was_computed(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        b.store(0, 2)
        assert b.lookup(0, 1, 2, 3) == [True, False, True, False]
        assert len(b.tier.recompute._missed) == 3
