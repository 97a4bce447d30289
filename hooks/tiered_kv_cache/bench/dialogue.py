"""The walkthrough's second experiment: four turns of a growing dialogue, and the same on another Pod."""

from __future__ import annotations

from .bench import Bench
from .client import Prompt
from .record import AGAIN, COLD, FIRST, Key
from .settings import DIALOGUE

TURNS = (530, 1058, 1586, 2114)
"""Prompt tokens of each turn; the walkthrough names the first and the last."""
REPETITIONS = 5


async def run(bench: Bench) -> None:
    """Each repetition: cold (every turn new to all), first (as it happens on one Pod), again (the same on another Pod)."""
    turns = [t for t in TURNS if bench.prompts.limit is None or t + bench.settings.output_tokens <= bench.prompts.limit]
    if len(turns) < len(TURNS):
        bench.skip(
            DIALOGUE, f"turns {len(turns) + 1} to {len(TURNS)}", f"the context ends at {bench.prompts.limit} tokens"
        )
    for repetition in range(1, min(REPETITIONS, bench.settings.repetitions) + 1):
        if bench.deadline.passed() or not turns:
            return
        # The three take turns in being the first.
        parts = [_cold, _real]
        bench.dice.shuffle(parts)
        for part in parts:
            await part(bench, turns, repetition)


async def _cold(bench: Bench, turns: list[int], repetition: int) -> None:
    spot = bench.dice.choice(bench.places.spots)
    for number, size in enumerate(turns, 1):
        await bench.alone(Key(DIALOGUE, COLD, size, number), spot, bench.prompts.fresh(size), repetition)


async def _real(bench: Bench, turns: list[int], repetition: int) -> None:
    spots = bench.dice.sample(bench.places.spots, len(bench.places.spots))
    writer, reader = spots[0], spots[-1]
    prompts: list[Prompt] = []
    start = await bench.counters(writer)
    for number, size in enumerate(turns, 1):
        prompts.append(bench.prompts.more(prompts[-1], size) if prompts else bench.prompts.fresh(size))
        await bench.alone(Key(DIALOGUE, FIRST, size, number), writer, prompts[-1], repetition)
    if reader is writer:
        bench.skip(DIALOGUE, AGAIN, "that needs a second place, which reads what the first stored")
        return
    await bench.stored(writer, start, turns[-1])
    for number, (size, prompt) in enumerate(zip(turns, prompts, strict=True), 1):
        await bench.alone(Key(DIALOGUE, AGAIN, size, number), reader, prompt, repetition)
