"""Judge the rows of a model, and say why a tier gave less than it must and what to do about it."""

from __future__ import annotations

from ..metrics import full_chunks
from . import judge_texts, judge_tiers, judge_times, skips
from .config import ModelSpec, Settings
from .judgement import Evidence, Judgement, found, given
from .result import COLD, L0, L1, L2, SKIPPED, ModelResult


def judge(model: ModelSpec, settings: Settings, result: ModelResult, evidence: Evidence) -> None:
    """Give every row its verdict, and add what is wrong to the findings, warnings and skips of ``result``."""
    case = Judgement(model, settings, result, evidence)
    judge_times.ratios(case)
    for row in result.rows:
        if row.counters is None or row.verdict == SKIPPED:
            continue
        if row.tier == COLD:
            judge_tiers.cold(case, row)
            if row is result.cold and model.l2:
                judge_tiers.stored(case, row)
        elif row.tier == L2:
            judge_tiers.l2(case, result.cold, row)
        elif row.tier == L0:
            judge_tiers.l0(case, row)
        elif row.tier == L1:
            judge_tiers.l1(case, row)
    judge_texts.all_rows(case)
    judge_times.speed(case)
    judge_times.one_node(case)
    for row in result.rows:
        if row.verdict == SKIPPED:
            skips.advise(case, row)


def unproven(model: ModelSpec, settings: Settings, result: ModelResult) -> bool:
    """Whether other requests hide what an L2 row proves: then the whole is worth another try with a new prompt."""
    want = full_chunks(settings.prompt_tokens, model.chunk_size) * model.chunk_size
    rows = [r for r in result.rows if r.tier == L2 and r.counters]
    return any(r.busy and given(r, settings.prompt_tokens) < want - 1 <= found(model, r) for r in rows)
