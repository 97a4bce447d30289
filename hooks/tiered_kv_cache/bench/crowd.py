"""Many requests at once: closed loop (so many users, who wait for their answers) and open loop (so many a second)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from ..http import Unreachable
from ..metrics import Counters
from .bench import Bench, tokens_of
from .client import Prompt
from .places import Spot
from .record import CLOSED, Key, Level, Tokens

SATURATED = 0.8
"""Share of the due requests that must be answered in the time in which they were due and once again."""


@dataclass(frozen=True)
class Task:
    """One request of a crowd."""

    key: Key
    spot: Spot
    prompt: Prompt


async def closed(bench: Bench, key: Key, tasks: Sequence[Task], at_once: int) -> Level:
    """Send all, ``at_once`` at a time."""
    waiting = list(reversed(tasks))

    async def user() -> None:
        while waiting and not bench.deadline.passed():
            await _send(bench, waiting.pop())

    return await _level(bench, key, tasks, lambda: asyncio.gather(*(user() for _ in range(at_once))), at_once)


async def open_loop(bench: Bench, key: Key, tasks: Sequence[Task], rate: float) -> Level:
    """Send each at its moment, whatever became of those before; gaps are drawn as independent users make them."""
    gaps = [bench.dice.expovariate(rate) for _ in tasks]

    async def arrive() -> None:
        running = []
        for task, gap in zip(tasks, gaps, strict=True):
            await asyncio.sleep(min(gap, bench.deadline.remaining()))
            if bench.deadline.passed():
                break
            running.append(asyncio.create_task(_send(bench, task)))
        await asyncio.gather(*running)

    level = await _level(bench, key, tasks, arrive, min(len(tasks), 32))
    due = sum(gaps)
    level.saturated = level.seconds > due / SATURATED + 1 or level.errors > 0
    return level


async def _send(bench: Bench, task: Task) -> None:
    await bench.ask(bench.sample(task.key, task.spot, 0), task.spot, task.prompt)
    load = f" {task.key.load:g} {'at once' if task.key.loop == CLOSED else 'a second'}" if task.key.load else ""
    bench.tick(f"{task.key.experiment} {task.key.condition}{load}")


async def _level(
    bench: Bench, key: Key, tasks: Sequence[Task], work: Callable[[], Awaitable[object]], connections: int
) -> Level:
    spots = bench.places.all
    try:
        for spot in {task.spot.name: task.spot for task in tasks}.values():
            await spot.client.connect(connections)
    except Unreachable as err:
        bench.skip(key.experiment, f"{key.condition} {key.loop} {key.load}", str(err))
    first, before = len(bench.record.samples), [await bench.counters(spot) for spot in spots]
    begin = time.perf_counter()
    await work()
    seconds = time.perf_counter() - begin
    made = bench.record.samples[first:]
    level = Level(
        key, round(seconds, 3), len(made), sum(bool(s.error) for s in made), sum(s.output_tokens or 0 for s in made),
        _moved(spots, before, [await bench.counters(spot) for spot in spots], key.condition),
    )  # fmt: skip
    bench.record.levels.append(level)
    return level


def _moved(
    spots: Sequence[Spot], before: Sequence[Counters | None], after: Sequence[Counters | None], condition: str
) -> Tokens | None:
    """Tokens by tier of all places together; None where no place counts, or one restarted."""
    moved = [(a.since(b), s) for s, b, a in zip(spots, before, after, strict=True) if a is not None and b is not None]
    if not moved or any(m.went_back() for m, _ in moved):
        return None
    return reduce(add, (tokens_of(m, condition, s) for m, s in moved), Tokens())


def add(one: Tokens, other: Tokens) -> Tokens:
    """Both together."""
    return Tokens(*(getattr(one, f) + getattr(other, f) for f in ("l0", "l1", "l2", "either", "computed")))
