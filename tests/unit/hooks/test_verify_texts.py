"""Greedy texts: equal, a near tie, or wrong; and what a control without any cache says about the engine itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulators.engine import Faults
from tiered_kv_cache.engine import Completion, Step
from tiered_kv_cache.verify import texts
from tiered_kv_cache.verify.result import EQUAL, NEAR_TIE, UNSURE, WRONG, Result

from .conftest import Release, findings, only, warnings


def said(*steps: tuple[str, Mapping[str, float]]) -> Completion:
    return Completion(" ".join(t for t, _ in steps), 1.0, 10, tuple(Step(t, top) for t, top in steps))


TOP = {"a": -0.7, "b": -0.8, "c": -4.0, "d": -5.0, "e": -6.0}
SURE = {"a": -0.1, "b": -3.0, "c": -4.0, "d": -5.0, "e": -6.0}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (said(("a", TOP), ("a", TOP)), EQUAL),
        # b is a little better here: rounding.
        (said(("a", TOP), ("b", TOP | {"b": -0.69})), NEAR_TIE),
        # The last candidate changed places with one as good.
        (said(("a", TOP), ("b", {"a": -0.7, "b": -0.69, "c": -4.0, "d": -5.0, "f": -6.0})), NEAR_TIE),
        # Another candidate that is too good to have been left out.
        (said(("a", TOP), ("b", {"a": -0.7, "b": -0.69, "c": -4.0, "d": -5.0, "f": -2.0})), WRONG),
        # A token that the first one would never say.
        (said(("a", TOP), ("z", {"z": -0.1, "y": -3.0})), WRONG),
        # The same candidates, but quite sure of another.
        (said(("a", TOP), ("c", TOP | {"c": -0.01})), WRONG),
        # A tie at last, but the odds before it were others: not the same context.
        (said(("a", TOP | {"c": -1.5}), ("b", TOP | {"b": -0.69})), WRONG),
        (said(("a", TOP)), WRONG),
    ],
)
def test_compare(other: Completion, same: str) -> None:
    one = said(("a", TOP), ("a", TOP))
    assert texts.compare(one, other).same == same
    assert texts.compare(other, one).same == same


@pytest.mark.parametrize(
    ("dtype", "same"), [("auto", NEAR_TIE), ("bfloat16", NEAR_TIE), ("half", WRONG), ("float32", WRONG)]
)
def test_what_is_rounding_depends_on_the_type(dtype: str, same: str) -> None:
    one, other = said(("a", TOP)), said(("b", TOP | {"b": -0.6}))
    assert texts.compare(one, other, texts.epsilon(dtype)).same == same


def test_as_real_engines_answer() -> None:
    """vLLM 0.32 in float32, a model of random weights: cold, and with 1792 of 1900 tokens from L2."""
    cold = {"8051": -7.508962631225586, "7970": -7.679908752441406, "7126": -7.707278728485107}
    warm = {"8051": -7.508962631225586, "7970": -7.679909706115723, "7126": -7.707279205322266}
    found = texts.compare(said(("8051", cold)), said(("8051", warm)), texts.epsilon("float32"))
    assert found.same == EQUAL
    assert found.drift is not None
    assert found.drift < texts.EPSILONS["float32"] / 1000


def test_without_log_probabilities_only_equal_is_sure() -> None:
    one, other = Completion("x", 1.0, 10), Completion("y", 1.0, 10)
    assert texts.compare(one, one).same == EQUAL
    assert texts.compare(one, other).same == UNSURE


def test_drift_is_the_largest_difference() -> None:
    found = texts.compare(said(("a", SURE), ("a", SURE)), said(("a", SURE), ("a", SURE | {"b": -2.25})))
    assert (found.same, found.drift) == (EQUAL, 0.75)


tops = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-20, 0), min_size=1, max_size=6)
answers = st.lists(
    tops.flatmap(lambda top: st.tuples(st.sampled_from(sorted(top)), st.just(top))), min_size=1, max_size=6
).map(lambda steps: said(*steps))


@given(answers, answers)
def test_compare_is_symmetric_and_equal_to_itself(one: Completion, other: Completion) -> None:
    assert texts.compare(one, one) == texts.Comparison(EQUAL, drift=0.0)
    there, back = texts.compare(one, other), texts.compare(other, one)
    assert (there.same, there.at, there.gap) == (back.same, back.at, back.gap)
    if there.same == EQUAL:
        assert [s.token for s in one.steps] == [s.token for s in other.steps]


def same(result: Result) -> dict[str, str]:
    return {r.tier: r.same for m in result.models for r in m.rows}


def test_wrong_blocks(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(wrong_blocks=True))
    result = release.verify()
    text = only(result)  # L2, L0 and L1 of pod-b all give it.
    assert "the greedy text differs: cold on Pod pod-a gave '" in text
    assert "L2, L0, L1 on Pod pod-b gave '" in text
    assert "first at character " in text
    assert "the control's text was the cold one" in text
    assert "Fix: L2 holds blocks of another model, dtype or version" in text
    assert same(result) == {"cold": "", "l2": "wrong", "l1": "wrong", "l0": "wrong", "control": "equal"}


def test_near_tie_passes_and_is_said(release: Release) -> None:
    release.add("pod-a", faults=Faults(near_tie=True))
    release.add("pod-b", faults=Faults(near_tie=True))
    result = release.verify()
    assert findings(result) == []
    assert same(result) == {"cold": "", "l2": "near tie", "l1": "near tie", "l0": "near tie", "control": "equal"}
    assert {r.verdict for r in result.models[0].rows} == {"pass"}
    assert "the text differs from token 16 on, where two candidates are nearly equal (0.010 apart)" in (
        result.models[0].rows[1].note
    )


def test_a_difference_without_log_probabilities_is_wrong_if_the_control_agrees(release: Release) -> None:
    release.add("pod-a", faults=Faults(no_logprobs=True))
    release.add("pod-b", faults=Faults(no_logprobs=True, wrong_blocks=True))
    assert "the control's text was the cold one" in only(release.verify())


@pytest.mark.parametrize("no_logprobs", [True, False])
def test_an_engine_that_does_not_agree_with_itself_proves_nothing(release: Release, no_logprobs: bool) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, faults=Faults(restless=True, no_logprobs=no_logprobs))
    result = release.verify()
    assert findings(result) == []
    assert set(same(result).values()) == {"", "unsure"}
    assert result.models[0].rows[1].verdict == "warn"
    assert "two answers without any cache differ: Pods pod-a and pod-b gave " in " ".join(warnings(result))


def test_equal_text_with_other_odds_is_said(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(drift=0.9))
    result = release.verify()
    assert findings(result) == []
    assert "the text is the cold one, but log probabilities differ by up to 0.90" in warnings(result)[0]


def test_without_a_hit_no_text_passes(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, l0=False, faults=Faults(not_connected=True))
    result = release.verify(release.model(l0=False))
    assert same(result)["l2"] == same(result)["l1"] == ""
    assert result.models[0].rows[1].verdict == "fail"


@pytest.mark.parametrize(
    ("faults", "why"),
    [(Faults(no_salt=True), "cache_salt refused"), (Faults(ignores_salt=True), "was not uncached")],
)
def test_a_control_that_is_none(release: Release, faults: Faults, why: str) -> None:
    release.add("pod-a", faults=faults)
    release.add("pod-b", faults=faults)
    result = release.verify()
    assert findings(result) == []
    control = result.models[0].rows[-1]
    assert (control.tier, control.verdict, control.why) == ("control", "skipped", why)
    assert result.models[0].control is None


def test_the_control_leaves_nothing_behind(pair: Release) -> None:
    assert pair.verify().ok
    assert len(list(pair.root.iterdir())) == 7
    (salted,) = [r for e in pair.engines for r in e.requests if r.get("cache_salt")]
    assert salted["kv_transfer_params"]["lmcache.skip_save"] is True
    assert salted["kv_transfer_params"]["lmcache.max_offload_tokens"] == 0
