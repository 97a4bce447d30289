"""Whether two greedy answers to one prompt are the same, or differ as they may, or differ as they must not.

Without any cache fault a greedy text can flip where two candidates are nearly equal: another batch, another kernel or
another node rounds differently. So a difference is judged by the log probabilities at the first token that differs, where
both answers still had the same context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

from ..engine import Completion, Step
from .result import EQUAL, NEAR_TIE, UNSURE, WRONG

EPSILON = 0.25
"""Natural log units. Logits between 16 and 32 are 0.125 apart in bfloat16, and the difference of two rounds twice."""
DRIFT = 0.5
"""Equal texts whose log probabilities differ by more than this, and by more than thrice the control's, are told."""


@dataclass(frozen=True)
class Comparison:
    """``same``: equal, near tie, wrong or unsure (no log probabilities). ``at``: number of the first token that differs.

    ``gap``: how much better each answer held its own token than the other's there. ``drift``: largest difference of a log
    probability up to there; None without log probabilities.
    """

    same: str
    at: int = 0
    gap: float | None = None
    drift: float | None = None


def compare(one: Completion, other: Completion) -> Comparison:
    """Compare two answers to one prompt."""
    if not one.steps or not other.steps:
        return Comparison(EQUAL if one.text == other.text else UNSURE)
    drift = 0.0
    for at, (a, b) in enumerate(zip_longest(one.steps, other.steps), 1):
        if a is None or b is None:
            return Comparison(WRONG, at, drift=drift)
        drift = max(drift, _drift(a, b))
        if a.token != b.token:
            gap = _gap(a, b)
            tie = gap is not None and gap < EPSILON and drift < EPSILON and _same_top(a.top, b.top)
            return Comparison(NEAR_TIE if tie else WRONG, at, gap, drift)
    return Comparison(EQUAL, drift=drift)


def _gap(a: Step, b: Step) -> float | None:
    """The larger of both answers' preferences for its own token; None when one did not have the other's at all."""
    if not {a.token, b.token} <= a.top.keys() & b.top.keys():
        return None
    return max(a.top[a.token] - a.top[b.token], b.top[b.token] - b.top[a.token])


def _drift(a: Step, b: Step) -> float:
    """Largest difference over the candidates that both name."""
    return max((abs(a.top[token] - b.top[token]) for token in a.top.keys() & b.top.keys()), default=float("inf"))


def _same_top(a: Mapping[str, float], b: Mapping[str, float]) -> bool:
    """The same candidates; the last places may swap when they are nearly equal too."""
    return all(
        top[token] - min(top.values()) < EPSILON for top, rest in ((a, b), (b, a)) for token in top.keys() - rest.keys()
    )
