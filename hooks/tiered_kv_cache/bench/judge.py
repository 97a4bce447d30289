"""What the figures say: is the measurement sound, is each goal reached, and how does it stand beside what is published."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from . import published
from .record import AGAIN, COLD, CONTROL, FIRST, L1, L2, OTHER, SHARED, Record
from .replay import too_long
from .settings import DIALOGUE, LOAD, SWEEP
from .stats import Ratio
from .summary import TOTAL, TOTALS, Compared, ratios

REACHED, MISSED, OPEN_QUESTION, NOT_MEASURED = "reached", "missed", "unclear", "not measured"
SOUND, UNSOUND = "sound", "not sound"
NEAR = 1.1
"""Two colds may differ by so much before nothing else can be believed."""
COLD_BY_L2, AT = 10.0, 1900
L2_BY_L1 = 1.15
SHARED_GAIN, AT_ONCE = 4.0, 8.0


@dataclass(frozen=True)
class Judgement:
    """One question and its answer. ``value`` and its interval are ratios."""

    question: str
    verdict: str
    ratio: Ratio | None = None
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """All of a run. ``sound``: nothing failed, counters bear out the tiers, and two colds are alike."""

    sound: bool
    summary: str
    judgements: tuple[Judgement, ...]


def judge(record: Record) -> Verdict:
    """The verdict on a record."""
    found = ratios(record)
    checks = [_errors(record), _proof(record), _control(found)]
    goals = [
        goal(f"cold/L2 >= {COLD_BY_L2:g} at {AT} tokens", _at(found, SWEEP, COLD, L2, size=AT), COLD_BY_L2, least=True),
        goal(f"L2/L1 <= {L2_BY_L1:g} at {AT} tokens", _at(found, SWEEP, L2, L1, size=AT), L2_BY_L1, least=False),
        *_not_slower(found),
        goal(f"cold/shared >= {SHARED_GAIN:g} at {AT_ONCE:g} at once",
              _at(found, LOAD, COLD, SHARED, loop="closed", load=AT_ONCE), SHARED_GAIN, least=True),
        *_published(found, ratios(record, TOTAL)),
    ]  # fmt: skip
    sound = all(c.verdict in (SOUND, NOT_MEASURED) for c in checks) and any(s.ttft_ms for s in record.samples)
    return Verdict(sound, _summary(record, sound, goals), (*checks, *goals))


def _summary(record: Record, sound: bool, goals: list[Judgement]) -> str:
    counts = {v: sum(g.verdict == v for g in goals) for v in (REACHED, MISSED, OPEN_QUESTION, NOT_MEASURED)}
    parts = ", ".join(f"{n} {v}" for v, n in counts.items() if n)
    return (f"bench: {SOUND if sound else UNSOUND.upper()}; variant {record.variant}; {len(record.samples)} requests in "
            f"{record.seconds:.0f} s; goals: {parts}")  # fmt: skip


def _errors(record: Record) -> Judgement:
    failed = [s.error for s in record.samples if s.error and not too_long(s)]
    if not failed:
        return Judgement("every request was answered", SOUND)
    why = f"{len(failed)} of {len(record.samples)} failed; the first: {failed[0]}"
    return Judgement("every request was answered", UNSOUND, why=why)


def _proof(record: Record) -> Judgement:
    question = "counters show the tier that each figure is of"
    told = [s for s in record.samples if s.proven is not None]
    wrong = [s for s in told if not s.proven]
    if not told:
        return Judgement(question, NOT_MEASURED, why="no counters could be read, so figures say nothing of tiers")
    counts = Counter(s.key for s in wrong)
    kinds = sorted({f"{key.condition} of {key.size}" for key in counts})
    more = f" and {len(kinds) - 5} more" if len(kinds) > 5 else ""
    why = f"{len(wrong)} of {len(told)} were answered by another tier and are left out: {', '.join(kinds[:5])}{more}"
    # A few may lose their race; where most do, that figure is not of what it says, however many others are.
    lost = any(count * 2 > sum(s.key == key for s in told) for key, count in counts.items())
    return Judgement(question, UNSOUND if lost else SOUND, why=why if wrong else "")


def _control(found: list[Compared]) -> Judgement:
    question = "a cold request is like another cold one"
    controls = [c for c in found if c.key.experiment == SWEEP and (c.above, c.below) == (COLD, CONTROL)]
    controls = [c for c in controls if c.ratio.low is not None]
    if not controls:
        return Judgement(question, NOT_MEASURED, why="too few repetitions for an interval")
    # The one that is farthest off, unless its own interval says that it may be 1.
    off = [c for c in controls if not (_within(c.ratio) or 1 / NEAR <= c.ratio.value <= NEAR)]
    worst = max(off or controls, key=lambda c: max(c.ratio.value, 1 / c.ratio.value))
    why = f"farthest off at {worst.key.size} tokens"
    return Judgement(question, UNSOUND if off else SOUND, worst.ratio, why)


def _within(ratio: Ratio) -> bool:
    return ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high


def goal(question: str, ratio: Ratio | None, wanted: float, least: bool) -> Judgement:
    """Reached or missed when the whole interval says so; between them, unclear."""
    if ratio is None:
        return Judgement(question, NOT_MEASURED)
    if ratio.low is None or ratio.high is None:
        return Judgement(question, OPEN_QUESTION, ratio, "too few repetitions for an interval")
    good, bad = (ratio.low >= wanted, ratio.high < wanted) if least else (ratio.high <= wanted, ratio.low > wanted)
    return Judgement(question, REACHED if good else MISSED if bad else OPEN_QUESTION, ratio)


def _not_slower(found: list[Compared]) -> list[Judgement]:
    question = "an L2 hit is not slower than cold, from 256 tokens up"
    pairs = [c for c in found if c.key.experiment == SWEEP and (c.above, c.below) == (COLD, L2)]
    if not pairs:
        return [Judgement(question, NOT_MEASURED)]
    worst = min(pairs, key=lambda c: c.ratio.value)
    # The goal is of the p50: intervals that hold 1 are not "slower".
    slower = [c for c in pairs if c.ratio.value < 1 and not _within(c.ratio)]
    pays = [c.key.size for c in pairs if c.ratio.low is not None and c.ratio.low > 1 and c.key.size]
    why = (
        f"least at {worst.key.size} tokens; surely faster from {min(pays)} tokens up"
        if pays
        else f"least at {worst.key.size} tokens"
    )
    if pays and any((c.key.size or 0) > min(pays) and c.key.size not in pays for c in pairs):
        why = f"least at {worst.key.size} tokens; surely faster at {', '.join(str(p) for p in sorted(pays))}"
    return [Judgement(question, MISSED if slower else REACHED, worst.ratio, why)]


def _published(found: list[Compared], totals: list[Compared]) -> list[Judgement]:
    """Beside the walkthrough's figures: another model on other hardware, so only the ratios can be compared."""
    made = []
    for size, theirs in published.SPEEDUP.items():
        ours = _at(found, SWEEP, COLD, L2, size=size) or _at(found, SWEEP, COLD, OTHER, size=size)
        made.append(goal(f"cold/L2 at {size} tokens, published {theirs:g}", ours, theirs, least=True))
    ours = _at(totals, DIALOGUE, FIRST, AGAIN, turn=TOTALS)
    made.append(
        goal(f"dialogue, first/again in sum, published {published.DIALOGUE:.2f}", ours, published.DIALOGUE, least=True)
    )
    return made


def _at(found: list[Compared], experiment: str, above: str, below: str, **where: float | str) -> Ratio | None:
    for each in found:
        same = (each.key.experiment, each.above, each.below) == (experiment, above, below)
        if same and all(getattr(each.key, name) == value for name, value in where.items()):
            return each.ratio
    return None
