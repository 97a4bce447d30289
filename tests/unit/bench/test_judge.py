"""The verdict follows from the samples: right, wrong, unsure and missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiered_kv_cache.bench import report
from tiered_kv_cache.bench.judge import judge
from tiered_kv_cache.bench.record import Key, Record, Sample
from tiered_kv_cache.bench.summary import TOTALS, ratios

STEADY = (1.0, 1.01, 0.99, 1.0, 1.02, 0.98)


def record(variant: str = "ours", **change: object) -> Record:
    known = {"settings": {"seed": 1}, "client": {}, "model": {"served_name": "tiny"}} | change
    return Record(variant, "2026-01-01T00:00:00+00:00", **known)  # type: ignore[arg-type]


def put(to: Record, key: Key, ms: float, factors: Sequence[float] = STEADY, proven: bool | None = True) -> None:
    for number, factor in enumerate(factors, 1):
        to.samples.append(Sample(key, len(to.samples), 0, "a", number, ms * factor, ms * factor, proven=proven))


def sweep(cold: float, l2: float, l1: float, size: int = 1900, **change: Any) -> Record:
    made = record(**change)
    for condition, ms in (("cold", cold), ("control", cold), ("l2", l2), ("l1", l1)):
        put(made, Key("sweep", condition, size), ms)
    return made


def verdicts(of: Record) -> dict[str, str]:
    return {j.question: j.verdict for j in judge(of).judgements}


def test_goals_reached_and_missed() -> None:
    good, bad = verdicts(sweep(600, 35, 33)), verdicts(sweep(600, 100, 33))
    assert good["cold/L2 >= 10 at 1900 tokens"] == good["L2/L1 <= 1.15 at 1900 tokens"] == "reached"
    assert bad["cold/L2 >= 10 at 1900 tokens"] == bad["L2/L1 <= 1.15 at 1900 tokens"] == "missed"
    assert judge(sweep(600, 100, 33)).sound, "a missed goal is a result"
    assert good["cold/shared >= 4 at 8 at once"] == "not measured"


def test_a_goal_within_the_interval_is_unclear() -> None:
    made = sweep(600, 60, 50)
    assert verdicts(made)["cold/L2 >= 10 at 1900 tokens"] == "unclear"


def test_too_few_for_an_interval() -> None:
    made = record()
    put(made, Key("sweep", "cold", 1900), 600, (1.0,))
    put(made, Key("sweep", "l2", 1900), 10, (1.0,))
    assert verdicts(made)["cold/L2 >= 10 at 1900 tokens"] == "unclear"


def test_a_slower_hit_and_where_it_pays() -> None:
    made = sweep(600, 35, 33)
    for condition, ms in (("cold", 30), ("control", 30), ("l2", 60)):
        put(made, Key("sweep", condition, 256), ms)
    found = {j.question: j for j in judge(made).judgements}["an L2 hit is not slower than cold, from 256 tokens up"]
    assert found.verdict == "missed"
    assert "least at 256 tokens; surely faster from 1900 tokens up" in found.why


def test_two_colds_that_differ() -> None:
    made = sweep(600, 35, 33)
    made.samples = [s for s in made.samples if s.key.condition != "control"]
    put(made, Key("sweep", "control", 1900), 700)
    assert verdicts(made)["a cold request is like another cold one"] == "not sound"
    assert not judge(made).sound


def test_samples_of_another_tier_do_not_count() -> None:
    made = sweep(600, 35, 33)
    put(made, Key("sweep", "l2", 1900), 600, STEADY[:2], proven=False)
    assert judge(made).sound
    assert next(r for r in ratios(made) if r.below == "l2").ratio.value > 15
    put(made, Key("sweep", "l2", 1900), 600, STEADY, proven=False)
    assert verdicts(made)["counters show the tier that each figure is of"] == "not sound"


def test_errors_and_none_at_all() -> None:
    made = sweep(600, 35, 33)
    made.samples.append(Sample(Key("replay", "first", None, 1), 99, 0, "a", error="http://x answered 400: too long"))
    assert judge(made).sound, "a conversation longer than the context is no fault of the engine"
    made.samples.append(Sample(Key("mix", "cold", 768, 1), 99, 0, "a", error="http://x: no answer in time"))
    assert verdicts(made)["every request was answered"] == "not sound"
    assert not judge(record()).sound


def test_only_whole_dialogues_are_summed() -> None:
    made = record()
    for turn in (1, 2):
        for condition, ms in (("first", 130), ("again", 100)):
            put(made, Key("dialogue", condition, 500 * turn, turn), ms)
    # The last repetition lacks a turn, and would look fast.
    made.samples.remove(
        next(s for s in made.samples if s.key == Key("dialogue", "again", 1000, 2) and s.repetition == 6)
    )
    whole = next(r for r in ratios(made) if r.key.turn == TOTALS)
    assert round(whole.ratio.value, 1) == 1.3
    assert verdicts(made)["dialogue, first/again in sum, published 1.30"] in ("reached", "unclear")


def test_differences_between_results() -> None:
    one, other = sweep(600, 35, 33), sweep(600, 70, 33, variant="peer", model={"served_name": "big"})
    assert report.differences(one, other) == ["model served_name is big, and tiny in ours"]
