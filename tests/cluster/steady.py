"""One client of one engine under steady requests, warm and cold in turn, while something below the engine fails; and the table of it."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import httpx
from kubernetes import client

from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.engine import Completion, Engine

from .api import wait_for
from .engines import CHUNK, Engines, prompt_of

LENGTH = 4 * CHUNK + 30
KEPT = 4
ON_S = 12.0
"""Seconds of a fault."""
REQUEST_S = 60.0
"""A request that takes longer has failed: the fault would else last for ever."""
BACK_S = 60.0
"""A bound for what never comes back; the table shows the time that it took."""
_NUMBERS = itertools.count()
"""Of all prompts: those of an engine that was given up lie in L2, and are not new to the next one."""


@dataclass
class Seen:
    """Requests of one phase. TTFT in milliseconds."""

    warm: list[float] = field(default_factory=list)
    """Of prompts that lie in L2."""
    cold: list[float] = field(default_factory=list)
    """Of prompts that nobody has seen."""
    hits: int = 0
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Client:
    """One client of one engine: in turn a prompt that lies in L2 and in no other tier, and a new one."""

    def __init__(self, engines: Engines, pod: client.V1Pod) -> None:
        self.engines, self.pod = engines, pod
        self.kept = [prompt_of(f"fault kept {next(_NUMBERS)}", LENGTH) for _ in range(KEPT)]
        self.texts: dict[tuple[int, ...], str] = {}
        self._turn = itertools.cycle(self.kept)

    def fill(self) -> list[float]:
        """Let the engine compute and store the kept prompts; their TTFT."""
        before = self.engines.counters(self.pod)
        times = []
        for prompt in self.kept:
            answer = self._complete(prompt)
            self.texts[tuple(prompt)] = answer.text
            times.append(answer.ttft_ms)
        chunks = KEPT * (LENGTH // CHUNK)
        wait_for("stored", lambda: self.engines.counters(self.pod).since(before).stored_chunks >= chunks, 120)
        return times

    def steady(self, seconds: float, fresh: list[list[int]] | None = None) -> Seen:
        """Both kinds of requests for so long; the new prompts are added to `fresh`."""
        seen, end = Seen(), time.monotonic() + seconds
        while time.monotonic() < end:
            self.warm(next(self._turn), seen)
            if fresh is not None:
                prompt = prompt_of(f"fault new {next(_NUMBERS)}", LENGTH)
                if answer := self._ask(prompt, seen):
                    seen.cold.append(answer.ttft_ms)
                    self.texts[tuple(prompt)] = answer.text
                    fresh.append(prompt)
        return seen

    def warm(self, prompt: list[int], seen: Seen) -> bool:
        """Ask what should come from L2; whether it did."""
        try:
            self.engines.clear_l0(self.pod)
            self.engines.clear_l1(self.pod)
        except httpx.HTTPError as error:
            seen.failed.append(f"clear: {error!r}")
        before = self.engines.counters(self.pod)
        answer = self._ask(prompt, seen)
        if answer is None:
            return False
        seen.warm.append(answer.ttft_ms)
        hit = self.engines.counters(self.pod).since(before).l2 >= LENGTH // CHUNK * CHUNK
        seen.hits += hit
        if answer.text != self.texts[tuple(prompt)]:
            seen.wrong.append(f"{answer.text!r} is not {self.texts[tuple(prompt)]!r}")
        return hit

    def back(self, seen: Seen) -> float | None:
        """Seconds until the last miss had its answer, before all that was kept hit again; None when it takes too long."""
        begin = last = time.monotonic()
        hits = 0
        while hits < KEPT:
            hits = hits + 1 if self.warm(next(self._turn), seen) else 0
            if not hits:
                last = time.monotonic()
                if last - begin > BACK_S:
                    return None
        return last - begin

    def _ask(self, prompt: list[int], seen: Seen) -> Completion | None:
        try:
            return self._complete(prompt)
        except Exception as error:  # whatever it is, the request has failed
            seen.failed.append(repr(error))
            return None

    def _complete(self, prompt: list[int]) -> Completion:
        engine = Engine(self.engines.api.url(self.pod, 8000), self.engines.model, Deadline(REQUEST_S))
        try:
            return engine.complete(prompt, 8)
        finally:
            engine.close()


Begin = Callable[[Client], Callable[[], object]]
"""Begins a fault for the client's engine, and returns what ends it."""


@dataclass(frozen=True)
class Trial:
    """What one fault did. ``bad``: what must not be; ``broken``: whether the engine is of no more use."""

    row: str
    bad: list[str]
    colds: list[float]
    broken: bool


def trial(now: Client, name: str, begin: Callable[[], Callable[[], object]]) -> Trial:
    """Requests before, during and after a fault. ``begin`` begins it and returns what ends it."""
    before = now.steady(3)
    fresh: list[list[int]] = []
    end = begin()
    during = now.steady(ON_S, fresh)
    end()
    after = Seen()
    back = now.back(after)
    settled = now.steady(3)
    # What was stored meanwhile may be damaged, or not there: it must then be a miss.
    stored = Seen()
    for prompt in fresh:
        now.warm(prompt, stored)
    failed = [text for seen in (during, after, settled, stored) for text in seen.failed]
    wrong = [text for seen in (during, after, settled, stored) for text in seen.wrong]
    bad = [f"{name}: {text}" for text in [*failed, *wrong]]
    if back is None:
        bad.append(f"{name}: no hits {BACK_S:.0f} s after its end")
    line = _row(name, (before, during, settled), back, len(failed), len(wrong))
    print(line, flush=True)
    return Trial(line, bad, during.cold, bool(failed) or back is None)


def trials(title: str, fresh: Callable[[], Engines], faults: Mapping[str, Begin]) -> list[str]:
    """Each fault in turn, and a table of them; what must not be. `fresh`: engines, made anew when they are of no more use."""
    colds: list[float] = []
    bad: list[str] = []
    rows = []

    def start() -> Client:
        engines = fresh()
        made = Client(engines, engines.pods()[0])
        colds.extend(made.fill())
        made.steady(3)
        return made

    now = start()
    for name, begin in faults.items():
        seen = trial(now, name, partial(begin, now))
        rows.append(seen.row)
        bad += seen.bad
        colds += seen.colds
        if seen.broken:
            now = start()
    print(f"\n{title}: TTFT cold {statistics.median(colds):.0f} ms (median of {len(colds)}), in ms:\n{HEAD}")
    print("\n".join(rows), flush=True)
    return bad


HEAD = (
    "| fault | L2 hit before | during: median | during: worst | cold in the same time, median, worst | hits during "
    "| failed | wrong texts | hits back after | L2 hit after |\n|---|---|---|---|---|---|---|---|---|---|"
)


def _row(name: str, phases: tuple[Seen, Seen, Seen], back: float | None, failed: int, wrong: int) -> str:
    before, during, after = phases

    def middle(times: list[float]) -> str:
        return f"{statistics.median(times):.0f}" if times else "-"

    def worst(times: list[float]) -> str:
        return f"{max(times):.0f}" if times else "-"

    cells = [
        name, middle(before.warm), middle(during.warm), worst(during.warm), f"{middle(during.cold)}, {worst(during.cold)}",
        f"{during.hits} of {len(during.warm)}", str(failed), str(wrong), f"{back:.1f} s" if back is not None else "never",
        middle(after.warm),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"
