"""One L2 beside another: several runs of the sweep on the same engine, one for each L2, put together.

The runs are one after the other, so that a machine which became slower in between would look like a slower L2. Each run
has its own colds: what is compared is the part of its own cold that a hit takes. A run without L2 is measured first and
once more at the end; what differs between these two is the machine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .judge import MISSED, NEAR, NOT_MEASURED, OPEN_QUESTION, REACHED, SOUND, UNSOUND, Judgement, Verdict, goal
from .record import COLD, L2, OWN, Key, Record, Sample, usable
from .settings import SWEEP
from .stats import Ratio, Spread, quotient, ratio, spread
from .summary import TOTAL, TTFT, values

KIND = "tiered-kv-cache bench peers"
FORMAT = 1
OURS_BY_PEER = 0.8
STORE_COST = 1.05
LEAST = 10
"""Samples that a figure needs."""
OTHER_POD, OWN_POD = "another Pod", "the same Pod"
HOW = {L2: OTHER_POD, OWN: OWN_POD}


@dataclass(frozen=True)
class Row:
    """One L2 at one size of prompts. Times in milliseconds.

    ``asked``: requests that were to be hits, ``n``: those of which counters show that all full chunks came from L2; only
    they are in ``hit``, which is None where there is none. ``part``: hit by cold of the same run. ``tokens``: of L2, the
    median. ``ours``: our part by this one's, below 1 where ours is faster. ``store``: whole answers to cold prompts by
    those without L2. ``errors``: requests without an answer.
    """

    peer: str
    how: str
    size: int
    asked: int
    n: int
    errors: int
    tokens: float | None
    hit: Spread | None
    cold: Spread | None
    part: Ratio | None
    ours: Ratio | None
    store: Ratio | None


@dataclass(frozen=True)
class Missing:
    """An L2 that was not measured, and why."""

    peer: str
    why: str


@dataclass(frozen=True)
class Names:
    """Variants with a part of their own: our L2, no L2, and no L2 once more; empty: there is none."""

    ours: str = "guarded"
    without: str = "none"
    control: str = "none-again"


@dataclass(frozen=True)
class Peers:
    """All runs together."""

    records: Sequence[Record]
    names: Names
    rows: tuple[Row, ...]
    missing: tuple[Missing, ...]
    verdict: Verdict

    def document(self) -> dict[str, Any]:
        """As docs/bench.md describes it."""
        runs = [
            {"variant": r.variant, "started": r.started, "seconds": r.seconds, "settings": r.settings, "client": r.client,
             "model": r.model, "places": [asdict(p) for p in r.places], "gaps": [asdict(g) for g in r.gaps]}
            for r in self.records
        ]  # fmt: skip
        return {
            "kind": KIND, "format": FORMAT, "names": asdict(self.names), "rows": [asdict(row) for row in self.rows],
            "missing": [asdict(each) for each in self.missing], "verdict": asdict(self.verdict), "runs": runs,
        }  # fmt: skip


def put_together(records: Sequence[Record], names: Names, missing: Sequence[Missing] = ()) -> Peers:
    """Rows and verdict of several runs, in their order."""
    by = {record.variant: record for record in records}
    rows = tuple(row for record in records for row in _rows(record, by, names))
    return Peers(records, names, rows, tuple(missing), _judge(records, by, rows, names))


def _rows(record: Record, by: dict[str, Record], names: Names) -> list[Row]:
    sizes = sorted({s.key.size for s in record.samples if s.key.experiment == SWEEP and s.key.size})
    kinds = [kind for kind in (L2, OWN) if any(s.key.condition == kind for s in record.samples)]
    if record.variant in (names.without, names.control):
        kinds = [COLD]
    return [_row(record, by, names, kind, size) for kind in kinds or [L2] for size in sizes]


def _row(record: Record, by: dict[str, Record], names: Names, kind: str, size: int) -> Row:
    samples = [s for s in record.samples if s.key == Key(SWEEP, kind, size)]
    good = [] if kind == COLD else [s for s in samples if proven(s)]
    hits, colds = _times(good), _cold(record, size)
    ours = by.get(names.ours)
    our_hits = hits_of(ours, kind, size) if ours else []
    compared = kind != COLD and record is not ours and ours is not None and bool(our_hits and hits and colds)
    without = by.get(names.without)
    store = without is not None and record is not without and kind != OWN
    return Row(
        record.variant, HOW.get(kind, ""), size, 0 if kind == COLD else len(samples), len(hits), sum(bool(s.error) for s in samples),
        spread([s.tokens.l2 for s in good if s.tokens], record.seed).median if good else None,
        spread(hits, record.seed) if hits else None, spread(colds, record.seed) if colds else None,
        ratio(hits, colds, record.seed) if hits and colds else None,
        quotient((our_hits, _cold(ours, size)), (hits, colds), record.seed) if compared and ours else None,
        _by(_cold(record, size, TOTAL), _cold(without, size, TOTAL), record.seed) if store and without else None,
    )  # fmt: skip


def proven(sample: Sample) -> bool:
    """Whether counters show the hit. Without that word a time is no figure: an L2 that lost the blocks has computed them."""
    return usable(sample) and sample.proven is True


def hits_of(record: Record, kind: str, size: int) -> list[float]:
    """TTFT of the proven hits, in milliseconds."""
    return _times([s for s in record.samples if s.key == Key(SWEEP, kind, size) and proven(s)])


def _times(samples: Sequence[Sample]) -> list[float]:
    return [s.ttft_ms for s in samples if s.ttft_ms is not None]


def _cold(record: Record | None, size: int, metric: str = TTFT) -> list[float]:
    return values(record, Key(SWEEP, COLD, size), metric) if record else []


def _by(above: list[float], below: list[float], seed: int) -> Ratio | None:
    return ratio(above, below, seed) if above and below else None


def best(rows: Sequence[Row], names: Names, size: int) -> Row | None:
    """The fastest peer that Pods share, by the part of its own cold that a hit takes; of those with enough samples, if any has."""
    found = [r for r in rows if r.size == size and r.how == OTHER_POD and r.part and r.peer != names.ours]
    found = [r for r in found if r.n >= LEAST] or found
    return min(found, key=lambda r: r.part.value if r.part else 0, default=None)


def _judge(records: Sequence[Record], by: dict[str, Record], rows: Sequence[Row], names: Names) -> Verdict:
    checks = [_answered(rows), _enough(rows), _quiet(by, names)]
    sizes = sorted({row.size for row in rows}, reverse=True)
    goals = [_against(rows, names, size) for size in sizes]
    goals += [_store(rows, names, size) for size in sizes[:1]]
    sound = all(c.verdict in (SOUND, NOT_MEASURED) for c in checks) and any(row.n for row in rows)
    counts = {v: sum(g.verdict == v for g in goals) for v in (REACHED, MISSED, OPEN_QUESTION, NOT_MEASURED)}
    told = ", ".join(f"{n} {v}" for v, n in counts.items() if n)
    seconds = sum(record.seconds for record in records)
    summary = f"peers: {SOUND if sound else UNSOUND.upper()}; {len(records)} runs in {seconds:.0f} s; goals: {told}"
    return Verdict(sound, summary, (*checks, *goals))


def _answered(rows: Sequence[Row]) -> Judgement:
    failed = sorted({row.peer for row in rows if row.errors})
    question = "every request was answered"
    return Judgement(question, UNSOUND, why=f"not all of {', '.join(failed)}") if failed else Judgement(question, SOUND)


def _enough(rows: Sequence[Row]) -> Judgement:
    """Rows without any hit say so themselves."""
    few = [f"{row.peer} at {row.size} tokens: {row.n}" for row in rows if 0 < row.n < LEAST]
    question = f"each figure has {LEAST} hits that counters show, or more"
    return Judgement(question, UNSOUND, why="; ".join(few)) if few else Judgement(question, SOUND)


def _quiet(by: dict[str, Record], names: Names) -> Judgement:
    question = "no L2 takes as long at the end as at the start"
    first, last = by.get(names.without), by.get(names.control)
    sizes = sorted({s.key.size for s in last.samples if s.key.size}) if first and last else []
    found = [(size, _by(_cold(last, size), _cold(first, size), 1)) for size in sizes]
    told = [(size, each) for size, each in found if each]
    if not told:
        return Judgement(question, NOT_MEASURED)
    size, worst = max(told, key=lambda pair: max(pair[1].value, 1 / pair[1].value))
    within = worst.low is not None and worst.high is not None and worst.low <= 1 <= worst.high
    alike = within or 1 / NEAR <= worst.value <= NEAR
    return Judgement(question, SOUND if alike else UNSOUND, worst, f"farthest off at {size} tokens")


def _against(rows: Sequence[Row], names: Names, size: int) -> Judgement:
    found = best(rows, names, size)
    question = f"our L2 / best peer <= {OURS_BY_PEER:g} at {size} tokens, each by its own cold"
    if found is None:
        return Judgement(question, NOT_MEASURED, why="no peer has a hit from another Pod")
    made = goal(question, found.ours, OURS_BY_PEER, least=False)
    plain = [r for r in rows if r.peer == names.ours and r.size == size and r.how == OTHER_POD and r.hit]
    beside = (
        f"; TTFT {plain[0].hit.median:.0f} by {found.hit.median:.0f} ms" if plain and plain[0].hit and found.hit else ""
    )
    return Judgement(made.question, made.verdict, made.ratio, f"the best is {found.peer}{beside}")


def _store(rows: Sequence[Row], names: Names, size: int) -> Judgement:
    question = f"storing costs a cold answer at most {STORE_COST - 1:.0%} at {size} tokens"
    found = [r.store for r in rows if r.peer == names.ours and r.size == size and r.how == OTHER_POD]
    return goal(question, found[0] if found else None, STORE_COST, least=False)
