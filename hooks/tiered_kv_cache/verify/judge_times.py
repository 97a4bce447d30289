"""What the tiers are worth in time, and where they were measured."""

from __future__ import annotations

from .judgement import Judgement
from .result import FAIL, L2, PASS

SLOWER = 0.8
"""A cache that is slower than computing by more than this ratio is told of, if it is more than SLOWER_MS."""
SLOWER_MS = 50.0


def one_node(case: Judgement) -> None:
    """Pods of one node have one mount."""
    nodes = {case.result.nodes.get(pod) for pod in case.result.pods}
    if len(nodes) == 1 and any(r.tier == L2 and r.verdict == PASS for r in case.result.rows):
        case.result.notes.append(f"all Pods run on node {nodes.pop()}: that other nodes see the volume is not proven")


def ratios(case: Judgement) -> None:
    """How many times as fast as without a cache each row is."""
    cold = [r.ttft_ms for r in (case.result.cold, case.result.control) if r and r.ttft_ms]
    if not cold:
        return
    # The faster one: the first request of its length may have warmed something up.
    base = min(cold)
    for row in case.result.rows:
        row.ratio = base / row.ttft_ms if row.ttft_ms else None


def speed(case: Judgement) -> None:
    """L2 must be worth its while."""
    least = case.settings.min_speedup
    for row in case.result.rows:
        if row.tier != L2 or row.ratio is None or row.ttft_ms is None or row.verdict == FAIL:
            continue
        times = f"{row.ttft_ms:.0f} ms, {row.ratio * row.ttft_ms:.0f} ms without a cache"
        if least and row.ratio < least:
            case.fail(
                row,
                "too slow",
                f"L2 on Pod {row.pod} is {row.ratio:.2f} times as fast as cold ({times}), less than "
                f"hooks.verify.minSpeedup {least:g}",
                "use a longer hooks.verify.promptTokens, a faster volume, or a lower hooks.verify.minSpeedup",
            )
        elif row.ratio < SLOWER and (1 - row.ratio) * row.ttft_ms > SLOWER_MS:
            case.warn(
                row,
                "slower than cold",
                f"L2 on Pod {row.pod} takes longer than computing the prompt anew ({times})",
                "the volume is too slow for this model, or the prompt too short to gain: try a longer "
                f"hooks.verify.promptTokens; if it stays so, set models.{case.model.name}.cache.l2.enabled: false",
            )
