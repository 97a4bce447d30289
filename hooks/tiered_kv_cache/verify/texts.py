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
EPSILONS = {"float32": 0.01, "float": 0.01, "float16": 0.05, "half": 0.05}
"""For types that round less: a thousand times what was seen with vLLM 0.32 in float32 (0.000001), and 1/8 of bfloat16's for
float16, which has three more bits, rounded up."""
DRIFT = 2.0
"""Equal texts whose log probabilities differ by more than so many epsilons, and by more than thrice the control's, are told."""


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


def epsilon(dtype: str) -> float:
    """How far apart log probabilities may be by rounding alone, for an engine's dtype; auto is mostly bfloat16."""
    return EPSILONS.get(dtype, EPSILON)


def compare(one: Completion, other: Completion, eps: float = EPSILON) -> Comparison:
    """Compare two answers to one prompt; what is closer than ``eps`` counts as a tie."""
    if not one.steps or not other.steps:
        return Comparison(EQUAL if one.text == other.text else UNSURE)
    drift = 0.0
    for at, (a, b) in enumerate(zip_longest(one.steps, other.steps), 1):
        if a is None or b is None:
            return Comparison(WRONG, at, drift=drift)
        drift = max(drift, _drift(a, b))
        if a.token != b.token:
            gap = _gap(a, b)
            tie = gap is not None and gap < eps and drift < eps and _same_top(a.top, b.top, eps)
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


def _same_top(a: Mapping[str, float], b: Mapping[str, float], eps: float) -> bool:
    """The same candidates; the last places may swap when they are nearly equal too."""
    return all(
        top[token] - min(top.values()) < eps for top, rest in ((a, b), (b, a)) for token in top.keys() - rest.keys()
    )
