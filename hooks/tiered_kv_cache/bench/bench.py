"""What all experiments share: settings, places, prompts, the record, time, and one measured request."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..deadline import Deadline, DeadlinePassed
from ..engine import SPIN_SECONDS, EngineError
from ..http import BadAnswer, Unreachable
from ..metrics import Counters, MetricsError, full_chunks
from ..verify.result import Hits
from ..verify.settle import Restarted, settled
from .client import Answer, Prompt
from .places import Places, Spot
from .prompts import Prompts
from .record import COLD, CONTROL, L0, L1, L2, OWN, Gap, Key, Record, Sample, Tokens
from .settings import Settings

REQUEST_SECONDS = 120.0
SETTLE_SECONDS = 5.0
"""How long counters may lag behind an answer."""
POLL_SECONDS = 0.05
STORE_SECONDS = 20.0
"""How long a Pod may take to write to L2 after its answer."""
REST_SECONDS = 1.0
"""How long the count of what is stored must rest to be believed."""
BLIND_SECONDS = 3.0
"""How long a place without counters is given to store."""
FAILURES = (Unreachable, BadAnswer, EngineError, MetricsError, Restarted, DeadlinePassed)


@dataclass
class Bench:
    """One run. ``tick``: told after each step, with what was done.

    ``deadline``: after it nothing new is begun; ``limit``: what was begun may take until then. A request that is cut off
    would be missing among the slow ones, so the two are apart.
    """

    settings: Settings
    places: Places
    prompts: Prompts
    record: Record
    deadline: Deadline
    limit: Deadline
    tick: Callable[[str], None]
    dice: random.Random = field(default_factory=random.Random)
    _order: int = 0
    _began: float = 0.0
    _last: tuple[str, float] = ("", 0.0)

    def begin(self, elapsed: float, samples: int) -> None:
        """Go on in a run that has taken ``elapsed`` seconds and has so many samples."""
        self._began, self._order = elapsed, samples

    def skip(self, experiment: str, what: str, why: str) -> None:
        """Write down, once, what is not measured."""
        gap = Gap(experiment, what, why)
        if gap not in self.record.gaps:
            self.record.gaps.append(gap)

    def sample(self, key: Key, spot: Spot, repetition: int) -> Sample:
        """A sample without times, already in the record."""
        self._order += 1
        made = Sample(key, self._order, round(self._began + self.deadline.elapsed(), 3), spot.name, repetition)
        self.record.samples.append(made)
        return made

    async def ask(self, sample: Sample, spot: Spot, prompt: Prompt) -> Answer | None:
        """One request into ``sample``; a failure goes there too."""
        try:
            answer = await spot.client.ask(prompt, self.settings.output_tokens, self.limit.timeout(REQUEST_SECONDS))
        except (Unreachable, BadAnswer, EngineError) as err:
            sample.error = str(err)
            return None
        sample.ttft_ms, sample.total_ms = round(answer.ttft_ms, 3), round(answer.total_ms, 3)
        sample.gaps_ms = [round(gap, 3) for gap in answer.gaps_ms]
        sample.prompt_tokens, sample.output_tokens = answer.prompt_tokens, answer.output_tokens
        sample.cached_tokens = answer.cached_tokens
        return answer

    async def alone(self, key: Key, spot: Spot, prompt: Prompt, repetition: int = 0) -> Sample:
        """One request while nothing else runs, with the counters around it."""
        sample = self.sample(key, spot, repetition)
        try:
            await self._quiet(spot)
            before = await spot.counters()
            await spot.client.connect()
            answer = await self.ask(sample, spot, prompt)
            if answer and before is not None:
                tokens = answer.prompt_tokens or (len(prompt) if isinstance(prompt, list) else 1)
                want = expected(key.condition, tokens, spot)
                moved = await self._moved(spot, before, tokens, lambda m: seen(key.condition, m, spot) >= want)
                busy = moved.prompt > tokens
                sample.tokens = None if busy else tokens_of(moved, key.condition, spot)
                sample.proven = None if busy else proven(key.condition, moved, want, spot)
        except FAILURES as err:
            sample.error = sample.error or str(err)
        self._last = (spot.name, time.monotonic())
        self.tick(f"{key.experiment} {key.condition}" + (f" {key.size} tokens" if key.size else ""))
        return sample

    async def _quiet(self, spot: Spot) -> None:
        """Wait until what another place answered last no longer keeps a processor busy."""
        place, at = self._last
        if place not in ("", spot.name):
            await asyncio.sleep(max(0.0, at + SPIN_SECONDS - time.monotonic()))

    async def _moved(self, spot: Spot, before: Counters, tokens: int, enough: Callable[[Counters], bool]) -> Counters:
        wait = self.limit.within(SETTLE_SECONDS)
        return await asyncio.to_thread(
            settled, spot.target.counters, before, tokens, enough, wait=wait, poll=POLL_SECONDS
        )

    async def counters(self, spot: Spot) -> Counters | None:
        """Counters now; None where there are none, or they cannot be read: the request that follows says so itself."""
        try:
            return await spot.counters()
        except FAILURES:
            return None

    async def stored(self, spot: Spot, start: Counters | None, tokens: int) -> None:
        """Wait until ``tokens`` tokens that were sent since ``start`` are in L2; engines store after their answer."""
        if not spot.l2:
            return
        if start is None or not spot.target.cache:
            await asyncio.sleep(min(BLIND_SECONDS, self.deadline.remaining()))
            return
        want, wait = full_chunks(tokens, spot.chunk or 256), self.limit.within(STORE_SECONDS)
        last, since = 0.0, wait.elapsed()
        while not wait.passed():
            try:
                moved = (await asyncio.to_thread(spot.target.counters)).since(start)
            except FAILURES:
                return  # The request that follows says so itself.
            if moved.stored_chunks != last:
                last, since = moved.stored_chunks, wait.elapsed()
            if last >= want and (last == want or wait.elapsed() - since >= REST_SECONDS):
                return
            await asyncio.sleep(POLL_SECONDS)


def expected(condition: str, tokens: int, spot: Spot) -> float:
    """Prompt tokens that the condition's tier must give, at the least."""
    # vLLM computes the last token anew, whatever is cached.
    whole = full_chunks(tokens, spot.chunk or 256) * (spot.chunk or 256)
    return {L2: max(1, whole - 1), OWN: max(1, whole - 1), L1: max(1, whole - 1), L0: 1}.get(condition, 0)


def seen(condition: str, moved: Counters, spot: Spot) -> float:
    """Tokens that the condition's tier gave, as far as counters tell."""
    if condition == L0:
        return moved.l0
    if condition in (L1, L2, OWN):
        return moved.loaded if spot.in_process else moved.l1 if condition == L1 else moved.l2
    return moved.l0 + moved.external


def proven(condition: str, moved: Counters, want: float, spot: Spot) -> bool | None:
    """Whether the counters of a lone request show the condition's tier, and no tier that is faster."""
    if condition in (COLD, CONTROL):
        return seen(condition, moved, spot) == 0
    if condition in (L2, OWN, L1):
        return moved.l0 == 0 and seen(condition, moved, spot) >= want and moved.loaded >= min(want, moved.external) > 0
    return moved.l0 >= want if condition == L0 else None


def tokens_of(moved: Counters, condition: str, spot: Spot) -> Tokens:
    """Tokens by tier; LMCache inside vLLM's process does not tell L1 from L2, nor does vLLM alone."""
    blind = spot.in_process or not spot.target.cache
    hits = Hits(moved.l0, 0, 0, moved.loaded) if blind else Hits(*moved.served())
    if blind and condition == L2 and spot.l2:
        hits = Hits(moved.l0, 0, moved.loaded)  # The prompt is new to this Pod: its own memory cannot have it.
    return Tokens(hits.l0, hits.l1, hits.l2, hits.either, moved.computed)
