"""Load: prompts that nobody had before, and prompts of which others had most, at growing concurrency and rate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from . import crowd
from .bench import Bench
from .client import Prompt
from .crowd import Task
from .places import Spot
from .record import CLOSED, COLD, OPEN, SHARED, Key
from .settings import LOAD

LEAST_REQUESTS = 8
OPEN_SECONDS = 6.0
"""How long arrivals of one rate go on."""
MOST_REQUESTS = 96


async def run(bench: Bench) -> None:
    """Levels from the lowest up; of each both conditions, in a drawn order. Open loops end with the first saturated rate."""
    size = bench.settings.load_size
    if bench.prompts.limit is not None and size + bench.settings.output_tokens > bench.prompts.limit:
        bench.skip(LOAD, "all", f"--load-size {size} does not fit the context of {bench.prompts.limit} tokens")
        return
    full: set[str] = set()
    steps: list[tuple[str, float]] = [(CLOSED, n) for n in bench.settings.concurrency]
    steps += [(OPEN, rate) for rate in bench.settings.rates]
    # Side by side from the lowest up, so that a short budget cuts the highest of both loops.
    for loop, load in sorted(steps, key=lambda step: step[1]):
        for condition in bench.dice.sample((COLD, SHARED), 2):
            if bench.deadline.passed():
                bench.skip(LOAD, f"{condition} {loop} {load:g}", "no time was left; give a larger --budget")
            elif loop == OPEN and condition in full:
                bench.skip(LOAD, f"{condition} {loop} {load:g}", "a lower rate was more than the engines could do")
            elif await _level(bench, condition, loop, load):
                full.add(condition)


async def _level(bench: Bench, condition: str, loop: str, load: float) -> bool:
    """One level; whether it was more than the engines could do."""
    count = max(LEAST_REQUESTS, 2 * round(load)) if loop == CLOSED else max(LEAST_REQUESTS, round(load * OPEN_SECONDS))
    key = Key(LOAD, condition, bench.settings.load_size, None, loop, load)
    front = cycle(bench.places.front)
    prompts = await _shared(bench, front, min(count, MOST_REQUESTS)) if condition == SHARED else _cold(bench, count)
    tasks = [Task(key, next(front), prompt) for prompt in prompts]
    if loop == CLOSED:
        await crowd.closed(bench, key, tasks, int(load))
        return False
    return (await crowd.open_loop(bench, key, tasks, load)).saturated


def _cold(bench: Bench, count: int) -> list[Prompt]:
    return [bench.prompts.fresh(bench.settings.load_size) for _ in range(min(count, MOST_REQUESTS))]


async def _shared(bench: Bench, front: Iterator[Spot], count: int) -> list[Prompt]:
    """Prompts of a few groups; the common start of each was asked for once, somewhere, and is stored."""
    size = bench.settings.load_size
    groups = []
    for _ in range(max(2, count // 4)):
        start = bench.prompts.fresh(round(size * bench.settings.shared))
        spot = next(front)
        before = await bench.counters(spot)
        await bench.ask(bench.sample(Key(LOAD, "preparation", size), spot, 0), spot, start)
        groups.append((start, spot, before))
    # All were sent before the first is waited for: they are stored meanwhile.
    for start, spot, before in groups:
        await bench.stored(spot, before, len(start) if isinstance(start, list) else 0)
    return [bench.prompts.more(bench.dice.choice(groups)[0], size) for _ in range(count)]
