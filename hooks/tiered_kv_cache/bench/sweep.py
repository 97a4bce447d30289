"""Single requests by size: cold, from L2 on another Pod, from L1, from L0, and cold once more as control."""

from __future__ import annotations

from ..metrics import Counters
from .bench import FAILURES, Bench
from .client import Prompt
from .places import Spot
from .record import COLD, CONTROL, L0, L1, L2, OTHER, OWN, WARM, Key
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
    tiers = bench.settings.tiers
    # Drawn whether or not they are asked for: runs with other tiers then have the same Pods and orders.
    control_first = bench.dice.random() < 0.5
    local = [L0, L1]
    bench.dice.shuffle(local)
    if CONTROL in tiers and control_first:
        await _control(bench, reader, size, repetition)
    prompt = bench.prompts.fresh(size)
    start = await bench.counters(writer)
    await bench.alone(Key(SWEEP, COLD, size), writer, prompt, repetition)
    if L2 in tiers:
        await _l2(bench, writer, reader, start=start, prompt=prompt, size=size, repetition=repetition)
    if OWN in tiers:
        await _own(bench, writer, start=start, prompt=prompt, size=size, repetition=repetition)
    for tier in local:
        if tier in tiers:
            # Where the prompt has been last.
            await LOCAL[tier](bench, reader if L2 in tiers else writer, prompt, size, repetition)
    if CONTROL in tiers and not control_first:
        await _control(bench, reader, size, repetition)


async def _l2(
    bench: Bench, writer: Spot, reader: Spot, *, start: Counters | None, prompt: Prompt, size: int, repetition: int
) -> None:
    if reader is writer:
        bench.skip(SWEEP, L2, "that needs a second place, which reads what the first stored")
        return
    await bench.stored(writer, start, size)
    if _chunked(bench, reader, size, "l2" if reader.l2 else OTHER):
        await bench.alone(Key(SWEEP, L2 if reader.l2 else OTHER, size), reader, prompt, repetition)
    else:
        await bench.alone(Key(SWEEP, COLD, size), reader, prompt, repetition)


async def _own(bench: Bench, spot: Spot, *, start: Counters | None, prompt: Prompt, size: int, repetition: int) -> None:
    """The writer once more, its L0 and L1 emptied."""
    if not spot.l2:
        bench.skip(SWEEP, OWN, "the place has no L2, as far as is known of it")
        return
    if not _chunked(bench, spot, size, OWN):
        return
    await bench.stored(spot, start, size)
    try:
        emptied = await spot.empty()
    except FAILURES as err:
        bench.skip(SWEEP, OWN, f"L0 and L1 could not be emptied: {err}")
        return
    if emptied:
        await bench.alone(Key(SWEEP, OWN, size), spot, prompt, repetition)
    else:
        bench.skip(
            SWEEP, OWN, "L0 and L1 cannot be emptied there; that takes LMCache as a server and VLLM_SERVER_DEV_MODE=1"
        )


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


LOCAL = {L0: _l0, L1: _l1}
