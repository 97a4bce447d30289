"""Single requests by size: cold, from L2 on another Pod, from L1, from L0, and cold once more as control."""

from __future__ import annotations

from .bench import FAILURES, Bench
from .client import Prompt
from .places import Spot
from .record import COLD, CONTROL, L0, L1, L2, OTHER, WARM, Key
from .settings import SWEEP


async def run(bench: Bench) -> None:
    """Repetitions over all sizes, each in a random order, so that what drifts on the machine meets all alike."""
    sizes = bench.settings.fitting(bench.prompts.limit)
    if not sizes:
        bench.skip(SWEEP, "all sizes", f"none fits a context of {bench.prompts.limit} tokens; give smaller --sizes")
    for repetition in range(1, bench.settings.repetitions + 1):
        for size in bench.dice.sample(sizes, len(sizes)):
            if bench.deadline.passed():
                return
            await _one(bench, size, repetition)


async def _one(bench: Bench, size: int, repetition: int) -> None:
    """One prompt through all tiers. Which Pod writes and which reads is drawn, so that no Pod's speed counts as a tier's."""
    spots = bench.dice.sample(bench.places.spots, len(bench.places.spots))
    writer, reader = spots[0], spots[-1]
    control_first = bench.dice.random() < 0.5
    if control_first:
        await _control(bench, reader, size, repetition)
    prompt = bench.prompts.fresh(size)
    start = await bench.counters(writer)
    await bench.alone(Key(SWEEP, COLD, size), writer, prompt, repetition)
    if reader is not writer:
        await bench.stored(writer, start, size)
        if _chunked(bench, reader, size, "l2" if reader.l2 else OTHER):
            await bench.alone(Key(SWEEP, L2 if reader.l2 else OTHER, size), reader, prompt, repetition)
        else:
            await bench.alone(Key(SWEEP, COLD, size), reader, prompt, repetition)
    else:
        bench.skip(SWEEP, L2, "that needs a second place, which reads what the first stored")
    local = [_l0, _l1]
    bench.dice.shuffle(local)
    for tier in local:
        await tier(bench, reader, prompt, size, repetition)
    if not control_first:
        await _control(bench, reader, size, repetition)


async def _control(bench: Bench, spot: Spot, size: int, repetition: int) -> None:
    """A prompt of its own, as cold as the first: what differs between two colds is no tier's merit."""
    start = await bench.counters(spot)
    await bench.alone(Key(SWEEP, CONTROL, size), spot, bench.prompts.fresh(size), repetition)
    # Else what follows would be measured beside its store.
    await bench.stored(spot, start, size)


async def _l0(bench: Bench, spot: Spot, prompt: Prompt, size: int, repetition: int) -> None:
    await bench.alone(Key(SWEEP, L0 if spot.counts else WARM, size), spot, prompt, repetition)


async def _l1(bench: Bench, spot: Spot, prompt: Prompt, size: int, repetition: int) -> None:
    if not spot.l1:
        bench.skip(SWEEP, L1, "the place has none, as far as is known of it")
        return
    if not _chunked(bench, spot, size, L1):
        return
    try:
        emptied = await spot.reset()
    except FAILURES as err:
        bench.skip(SWEEP, L1, f"L0 could not be emptied: {err}")
        return
    if emptied:
        await bench.alone(Key(SWEEP, L1, size), spot, prompt, repetition)
    else:
        bench.skip(SWEEP, L1, "vLLM has no POST /reset_prefix_cache, so that L0 answers; set VLLM_SERVER_DEV_MODE=1 "
                   "on a test release")  # fmt: skip


def _chunked(bench: Bench, spot: Spot, size: int, what: str) -> bool:
    if spot.chunk is None or size >= spot.chunk:
        return True
    bench.skip(SWEEP, f"{what} of {size} tokens", f"less than one chunk of {spot.chunk} tokens: nothing is stored")
    return False
