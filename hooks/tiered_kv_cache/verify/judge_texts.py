"""Whether the answers of the tiers are the cold one, and whose fault it is if they are not."""

from __future__ import annotations

from ..engine import Completion
from ..findings import Finding, shorten
from . import texts
from .judgement import Judgement
from .result import COLD, CONTROL, EQUAL, FAIL, L2, NEAR_TIE, SKIPPED, UNSURE, WRONG, Row

Wrong = list[tuple[Row, texts.Comparison]]


def all_rows(case: Judgement) -> None:
    """Compare every answer with the cold one."""
    cold = case.result.cold
    if cold is None:
        return
    wrong: Wrong = []
    for row in case.result.rows:
        if row.tier != COLD and row.verdict != SKIPPED:
            _text(case, cold, row, wrong)
    _wrong_texts(case, cold, wrong)


def _text(case: Judgement, cold: Row, row: Row, wrong: Wrong) -> None:
    if cold.answer is None or row.answer is None:
        return
    if row.tier != CONTROL and not case.given(row) and not row.busy:
        return  # Without a hit, an equal text says nothing about the cache.
    control, eps = case.result.control, texts.epsilon(case.model.dtype)
    found = texts.compare(cold.answer, row.answer, eps)
    row.same = found.same
    if row is control:
        if found.same not in (EQUAL, NEAR_TIE):
            row.same = UNSURE
            _control_differs(case, cold, row)
        return
    noise = texts.compare(cold.answer, control.answer, eps) if control and control.answer else None
    if found.same != EQUAL and control and control.answer and control.pod == row.pod:
        # The cold text of the same Pod decides: another node may round differently.
        same_pod = texts.compare(control.answer, row.answer, eps)
        if same_pod.same in (EQUAL, NEAR_TIE) or found.same == UNSURE:
            found = same_pod
            row.same = found.same
    if found.same == NEAR_TIE:
        row.note = (
            f"the text differs from token {found.at} on, where two candidates are nearly equal ({found.gap:.3f} "
            "apart): rounding, not the cache"
        )
    elif found.same in (WRONG, UNSURE):
        _differs(case, row, found, noise, wrong)
    elif found.drift is not None and found.drift > max(texts.DRIFT * eps, 3 * ((noise and noise.drift) or 0.0)):
        case.warn(
            row,
            "text equal, odds are not",
            f"{case.result.place(row)}: the text is the cold one, but log probabilities differ by up to "
            f"{found.drift:.2f}",
            "cached blocks are less exact than computed ones (a quantised kvCacheDtype does that), or of another "
            f"dtype: compare {case.evidence.root}/config.json with the Pods",
        )


def _differs(case: Judgement, row: Row, found: texts.Comparison, noise: texts.Comparison | None, wrong: Wrong) -> None:
    """A text that is neither the cold one nor a near tie."""
    if noise is not None and noise.same in (WRONG, UNSURE):
        # The engine does not agree with itself, so that nothing follows for the cache.
        row.same = UNSURE
        case.warn(
            row,
            "text unsure",
            f"{case.result.place(row)}: the text differs from the cold one, and so did the control's",
            "this engine gives different greedy texts without any cache, so that texts prove nothing; "
            "run helm test when the model is quiet, with all Pods on one kind of node",
        )
        return
    row.same = WRONG
    if row.verdict != FAIL:
        row.verdict, row.why = FAIL, "wrong text"
    wrong.append((row, found))


def _wrong_texts(case: Judgement, cold: Row, wrong: Wrong) -> None:
    """One finding for each wrong text: L1 and L0 repeat what L2 gave."""
    for text in dict.fromkeys(row.text or "" for row, _ in wrong):
        same = [(row, found) for row, found in wrong if (row.text or "") == text]
        rows = [row for row, _ in same]
        gap = next((f", a gap of {found.gap:.2f}" for _, found in same if found.gap is not None), "")
        one = cold.text or ""
        at = next((i for i, (a, b) in enumerate(zip(one, text, strict=False)) if a != b), min(len(one), len(text)))
        known = case.result.control is not None
        tiers = ", ".join(r.tier.upper() for r in rows)
        where = ", ".join(dict.fromkeys(f"Pod {r.pod}" for r in rows))
        cause = "L2 holds blocks of another model, dtype or version"
        if rows[0].tier != L2:
            cause = f"{rows[0].tier.upper()} gives wrong blocks"
        case.result.findings.append(
            Finding(
                f"model {case.model.name}: the greedy text differs: cold on Pod {cold.pod} gave {shorten(one, 80)!r}, "
                f"{tiers} on {where} gave {shorten(text, 80)!r}, first at character {at + 1}{gap}; "
                + ("the control's text was the cold one" if known else "there was no control"),
                f"{cause}: set models.{case.model.name}.cache.l2.enabled: false until it is found, compare "
                "config.json with the Pods' image and dtype, empty that directory, and test again",
                (case.look(rows[0], f"cat {case.evidence.root}/config.json"),) if case.evidence.root else (),
            )
        )


def _control_differs(case: Judgement, cold: Row, row: Row) -> None:
    both: tuple[Completion | None, ...] = (cold.answer, row.answer)
    gave = " and ".join(repr(shorten(a.text, 60)) for a in both if a)
    case.warn(
        row,
        "engine differs",
        f"two answers without any cache differ: Pods {cold.pod} and {row.pod} gave {gave}",
        "no cache is at fault, but greedy texts of this engine cannot prove that a cache is right: look for nodes "
        "of different kinds, and for engine arguments that are not deterministic",
    )
