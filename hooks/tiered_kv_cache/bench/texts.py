"""The text check: greedy answers out of each tier beside a cold one, with a second cold one as control.

A cache that is never wrong gives the same text from every tier, but for near ties: where two tokens are almost equally good
another batch shape rounds to the other. So each difference is judged by log probabilities (verify.texts), and the control,
which no cache has touched, tells how often that happens by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from ..deadline import Deadline
from ..engine import Completion
from ..findings import UsageError
from ..metrics import Counters, full_chunks
from ..verify.prompt import nonce
from ..verify.result import EQUAL, NEAR_TIE, UNSURE, WRONG
from ..verify.settle import settled
from ..verify.texts import compare, epsilon
from . import bench as waits
from .bench import expected, seen
from .places import Places, Spot
from .prompts import Prompts
from .record import COLD, CONTROL, L0, L1, L2
from .texts_settings import TextSettings

KIND = "tiered-kv-cache texts"
LEAST_HITS = 0.99
"""Of the tokens that a tier must give: with fewer the check has not seen that tier."""
SHOWN = 20
"""Differences that are kept whole."""


@dataclass
class Row:
    """Answers of one tier against the cold ones. ``wanted``, ``given``: prompt tokens that the tier had to give, and gave.

    ``drift``: largest difference of a log probability in natural units.
    """

    tier: str
    at_once: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((EQUAL, NEAR_TIE, WRONG, UNSURE), 0))
    wanted: float = 0
    given: float = 0
    drift: float = 0.0

    @property
    def answers(self) -> int:
        return sum(self.counts.values())

    @property
    def hits(self) -> bool:
        """Whether counters show the tier; a control has none."""
        return self.given == 0 if self.tier == CONTROL else self.answers > 0 and self.given >= LEAST_HITS * self.wanted

    @property
    def passed(self) -> bool:
        return self.hits and not self.counts[WRONG] and not self.counts[UNSURE]


@dataclass(frozen=True)
class Difference:
    """One answer that is not equal: ``at`` and ``gap`` as of verify.texts.Comparison."""

    tier: str
    at_once: int
    size: int
    same: str
    at: int
    gap: float | None
    drift: float | None
    cold: str
    other: str


@dataclass
class Texts:
    """A whole check."""

    settings: TextSettings
    dtype: str
    rows: list[Row] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return bool(self.rows) and all(row.passed for row in self.rows)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        rows = [asdict(row) | {"answers": row.answers, "passed": row.passed} for row in self.rows]
        return {"kind": KIND, "passed": self.passed} | asdict(self) | {"rows": rows}


def run(settings: TextSettings, places: Places, limit: Deadline, tick: Callable[[str], None]) -> Texts:
    """Ask; raises UsageError where a tier cannot be told, and what an engine's answer raises."""
    check = _Check(settings, places, limit, tick)
    for at_once in settings.at_once:
        check.level(at_once)
    return check.found


class _Check:
    def __init__(self, settings: TextSettings, places: Places, limit: Deadline, tick: Callable[[str], None]) -> None:
        faulty = [s.name for s in places.spots if not (s.counts and s.target.cache and s.l1 and s.l2)]
        if faulty or len(places.spots) < 2:
            why = f"{', '.join(faulty)} shows no counters of L1 and L2" if faulty else "there is one Pod only"
            raise UsageError(f"the text check needs two Pods that show what L1 and L2 gave, and {why}. "
                             "Fix: name a release with two Ready Pods and LMCache as a server")  # fmt: skip
        self.settings, self.spots, self.limit, self.tick = settings, places.spots, limit, tick
        self.prompts = Prompts.of(places.spots[0].target.engine)
        self.dice = random.Random(settings.seed)
        self.found = Texts(settings, settings.dtype or _dtype(places.spots[0]))
        self.epsilon = epsilon(self.found.dtype)

    def level(self, at_once: int) -> None:
        rows = {tier: Row(tier, at_once) for tier in (CONTROL, L2, L1, L0)}
        self.found.rows += rows.values()
        left = self.settings.prompts
        with ThreadPoolExecutor(at_once) as pool:
            while left > 0:
                self._batch(rows, min(left, at_once), pool)
                left -= at_once

    def _batch(self, rows: dict[str, Row], count: int, pool: ThreadPoolExecutor) -> None:
        """So many prompts at once through all tiers."""
        sizes = [self.dice.choice(self.settings.sizes) for _ in range(count)]
        prompts = [self.prompts.fresh(size) for size in sizes]
        writer, reader = self.dice.sample(self.spots, 2)
        begin = writer.target.counters()
        colds, moved = self._ask(writer, prompts, COLD, pool)
        if seen(COLD, moved, writer):
            raise UsageError(f"{writer.name} gave {seen(COLD, moved, writer):g} tokens of new prompts from a cache: other requests "
                             "ran beside the check. Fix: check a release that nobody uses meanwhile")  # fmt: skip
        self._stored(writer, begin, sum(full_chunks(size, writer.chunk or 256) for size in sizes))
        for tier in (CONTROL, L2, L0, L1):
            if tier == L1 and not reader.target.engine.reset_prefix_cache():
                raise UsageError("vLLM has no POST /reset_prefix_cache, so that L0 answers in L1's place. "
                                 "Fix: set VLLM_SERVER_DEV_MODE=1 on a test release")  # fmt: skip
            answers, moved = self._ask(reader, prompts, tier, pool)
            row = rows[tier]
            if tier != CONTROL:
                row.wanted += sum(expected(tier, size, reader) for size in sizes)
            row.given += _taken(tier, moved, reader)
            for size, cold, other in zip(sizes, colds, answers, strict=True):
                self._judge(row, size, cold, other)

    def _ask(
        self, spot: Spot, prompts: Sequence[Any], tier: str, pool: ThreadPoolExecutor
    ) -> tuple[list[Completion], Counters]:
        # Blocks of another salt are another's: a control finds nothing, and leaves nothing that the others find.
        extra = {"cache_salt": nonce()} if tier == CONTROL else None
        before = spot.target.counters()
        answers = list(
            pool.map(lambda prompt: spot.target.engine.complete(prompt, self.settings.output_tokens, extra), prompts)
        )
        tokens = sum(answer.prompt_tokens or 0 for answer in answers)
        want = sum(expected(tier, len(prompt), spot) for prompt in prompts)
        moved = settled(
            spot.target.counters, before, tokens, lambda now: seen(tier, now, spot) >= want,
            wait=self.limit.within(waits.SETTLE_SECONDS), poll=waits.POLL_SECONDS,
        )  # fmt: skip
        for _ in answers:
            self.tick(f"texts {tier}")
        return answers, moved

    def _stored(self, spot: Spot, begin: Counters, chunks: int) -> None:
        wait = self.limit.within(waits.STORE_SECONDS)
        while spot.target.counters().since(begin).stored_chunks < chunks and not wait.passed():
            wait.sleep(waits.POLL_SECONDS)

    def _judge(self, row: Row, size: int, cold: Completion, other: Completion) -> None:
        found = compare(cold, other, self.epsilon)
        row.counts[found.same] += 1
        row.drift = max(row.drift, found.drift or 0.0)
        if found.same != EQUAL and len(self.found.differences) < SHOWN:
            self.found.differences.append(
                Difference(
                    row.tier, row.at_once, size, found.same, found.at, found.gap, found.drift, cold.text, other.text
                )
            )


def _taken(tier: str, moved: Counters, spot: Spot) -> float:
    """Tokens that the tier gave and vLLM took: LMCache counts what it finds, whether or not it can be loaded."""
    given = seen(tier, moved, spot)
    return min(given, moved.loaded) if tier in (L2, L1) else given


def _dtype(spot: Spot) -> str:
    """What the engine was started with, as far as its Pod tells."""
    words = [word for container in spot.target.pod.containers.values() for word in container.words]
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "--dtype"]
    return after[0] if after else "auto"
