"""One run: warm up, then each experiment with its share of the time."""

from __future__ import annotations

import os
import platform
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from ..deadline import Deadline
from ..findings import UsageError
from . import dialogue, load, mix, replay, sweep
from .bench import FAILURES, Bench
from .places import Places
from .prompts import Prompts
from .record import Place, Record
from .settings import DIALOGUE, EXPERIMENTS, LOAD, MIX, REPLAY, SWEEP, Settings
from .stats import quantile

SHARES = {SWEEP: 0.45, DIALOGUE: 0.12, LOAD: 0.25, MIX: 0.08, REPLAY: 0.10}
"""Of the budget, for the experiments that are asked for; what one leaves goes to those behind it."""
RUNS = {SWEEP: sweep.run, DIALOGUE: dialogue.run, LOAD: load.run, MIX: mix.run, REPLAY: replay.run}
WARM_TOKENS = (64, 512)
WARM_ROUNDS = 2
PATH_REQUESTS = 10


async def run(
    settings: Settings,
    places: Places,
    *,
    deadline: Deadline,
    limit: Deadline,
    tick: Callable[[str], None],
    keep: Callable[[Record], None],
) -> Record:
    """Measure all that was asked for. ``keep``: called with the record after each experiment, so that a run that is
    stopped leaves what it has; ``deadline`` and ``limit``: as of Bench. Raises UsageError, and what a first answer raises."""
    first = places.spots[0]
    prompts = Prompts.of(first.target.engine, settings.prompt_key)
    record = Record(
        settings.variant, datetime.now(UTC).isoformat(timespec="seconds"), _told(settings), _client(),
        {"served_name": places.model, "max_model_len": prompts.limit, "chunk": first.chunk, "exact_sizes": prompts.exact},
    )  # fmt: skip
    bench = Bench(settings, places, prompts, record, deadline, limit, tick, random.Random(settings.seed))
    await _warm_up(bench)
    left = {name: SHARES[name] for name in EXPERIMENTS if name in settings.experiments}
    for name in list(left):
        seconds = deadline.remaining() * left[name] / sum(left.values())
        del left[name]
        part = replace(bench, deadline=deadline.within(seconds))
        # Times of the whole run, and numbers that go on.
        part.begin(deadline.elapsed(), len(record.samples))
        await RUNS[name](part)
        record.seconds = round(deadline.elapsed(), 1)
        keep(record)
    return record


async def _warm_up(bench: Bench) -> None:
    """Connections, compiled shapes, and caches of everything but prompts; and how long the way takes by itself."""
    for spot in bench.places.all:
        try:
            for _ in range(WARM_ROUNDS):
                for tokens in WARM_TOKENS:
                    await spot.client.ask(
                        bench.prompts.fresh(tokens), bench.settings.output_tokens, bench.limit.timeout(120)
                    )
            # One after the other: that is how requests are measured.
            ways = [(await spot.client.connect())[0] for _ in range(PATH_REQUESTS)]
        except FAILURES as err:
            raise UsageError(
                f"{spot.name} does not answer as an OpenAI endpoint: {err}. Fix: see its log, and --url"
            ) from err
        bench.record.places.append(Place(spot.name, spot.node, round(quantile(ways, 0.5), 2), spot.images))


def _told(settings: Settings) -> dict[str, object]:
    """The settings as they are written down: a result is passed on, and nobody needs the paths of who measured."""
    return asdict(settings) | {"conversations": Path(settings.conversations).name}


def _client() -> dict[str, object]:
    """The machine that asks; what engines run on is not ours to know."""
    return {"cores": os.cpu_count(), "machine": platform.machine(), "system": f"{platform.system()} {platform.release()}",
            "python": sys.version.split()[0], "clock_ns": time.get_clock_info("perf_counter").resolution * 1e9}  # fmt: skip
