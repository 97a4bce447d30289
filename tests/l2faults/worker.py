"""Processes that store and load through the adapter's core, as LMCache does: buffers are taken back as soon as a task is reported.

They are forked, run until a moment or a kill -9, and report to a file of their own outside the tree.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from faultfs.syscalls import end_with_parent
from tiered_kv_cache.keeper.config import Grace, Limit, Settings
from tiered_kv_cache.keeper.health import Health
from tiered_kv_cache.keeper.keeper import Keeper
from tiered_kv_cache.l2 import config
from tiered_kv_cache.l2.lookup import LookupTask
from tiered_kv_cache.l2.metrics import Metrics
from tiered_kv_cache.l2.task import Ref, Task
from tiered_kv_cache.l2.tier import Tier

from . import objects

ANSWER_SECONDS = 60.0
"""A task that has not answered by then never will: all deadlines are far shorter, and the machine may be slow."""
QUARANTINE = 8
"""Buffers of given-up loads that are watched for late writes."""


@dataclass(frozen=True)
class When:
    """Work begins when a file is there, and lasts so many seconds."""

    gate: Path
    seconds: float

    def wait(self) -> float:
        """Wait for the beginning; the end, by the monotonic clock."""
        while not self.gate.exists():
            time.sleep(0.005)
        return time.monotonic() + self.seconds


class Report:
    """Lines of JSON, each on disk before the next step: who is killed has reported what went before."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self.counts: Counter[str] = Counter()

    def wrong(self, what: str, **about: object) -> None:
        """A fault of the code under test."""
        self._file.write(json.dumps({"wrong": what, **about}) + "\n")

    def end(self) -> None:
        self._file.write(json.dumps({"counts": self.counts}) + "\n")


def tier_of(base: Path, pod: str, chance: random.Random, **more: object) -> Tier:
    """A tier with short times, and half of the time with other ways to read and write."""
    given: dict[str, Any] = {
        "base_path": str(base),
        "pod": pod,
        "load_base_ms": 400,
        "stall_ms": 200,
        "lookup_deadline_ms": 200,
        "store_base_ms": 500,
        "probe_interval_ms": 20,
        "use_interval_s": 1,
        "unreadable_ms": 100,
        "positive_cache_ms": chance.choice([0, 200]),
        "load_threads": 3,
        "store_threads": 2,
        "lookup_threads": 2,
        "direct_io": chance.random() < 0.3,
        "read_ahead": chance.random() < 0.5,
        **more,
    }
    return Tier(config.parse(given), Metrics(CollectorRegistry()))


def answered(report: Report, what: str, start: Callable[[Callable[[Any], None]], None]) -> Any:
    """Start a task and wait for its answer; None, and a report, if none comes."""
    box: list[Any] = []
    ready = threading.Event()

    def done(task: object) -> None:
        box.append(task)
        ready.set()

    start(done)
    if not ready.wait(ANSWER_SECONDS):
        report.wrong(f"a {what} was never answered")
        return None
    if len(box) != 1:
        report.wrong(f"a {what} was answered {len(box)} times")
    return box[0]


def store(tier: Tier, names: list[str], report: Report) -> Task | None:
    """Store the right bytes, and use the memory for something else as soon as the task is reported."""
    buffers = [bytearray(objects.payload(name)) for name in names]
    items = [(objects.ref(name), memoryview(buffer)) for name, buffer in zip(names, buffers, strict=True)]
    task = answered(report, "store", lambda done: tier.store(items, done))
    for buffer in buffers:
        buffer[:] = b"\xee" * len(buffer)
    if isinstance(task, Task):
        report.counts.update(f"store {slot.cause or 'done'}" for slot in task.slots)
        return task
    return None


class Quarantine:
    """Buffers that LMCache has taken back: nobody may write there any more."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._held: deque[tuple[str, bytearray, bytes]] = deque()

    def add(self, name: str, buffer: bytearray, mark: int) -> None:
        """The task of this buffer has been reported."""
        pattern = bytes([mark]) * len(buffer)
        buffer[:] = pattern
        self._held.append((name, buffer, pattern))
        if len(self._held) > QUARANTINE:
            self.check(1)

    def check(self, number: int = QUARANTINE) -> None:
        """Look at the oldest and let them go."""
        for _ in range(min(number, len(self._held))):
            name, buffer, pattern = self._held.popleft()
            if buffer != pattern:
                self._report.wrong("memory was written after its task was reported", name=name)


def load(tier: Tier, names: list[str], report: Report, quarantine: Quarantine) -> dict[str, str | None]:
    """Load into buffers that hold another prompt's bytes; the cause of each miss, None for a hit."""
    other = objects.payload(objects.NAMES[0])
    buffers = [bytearray(other if name != objects.NAMES[0] else bytes(objects.SIZE)) for name in names]
    items = [(objects.ref(name), memoryview(buffer)) for name, buffer in zip(names, buffers, strict=True)]
    task = answered(report, "load", lambda done: tier.load(items, len(items), done))
    if task is None:
        return {}
    for number, (slot, name, buffer) in enumerate(zip(task.slots, names, buffers, strict=True)):
        if slot.cause is None and buffer != objects.payload(name):
            at = next(i for i, (a, b) in enumerate(zip(buffer, objects.payload(name), strict=True)) if a != b)
            report.wrong("wrong bytes were returned", name=name, first=at)
        quarantine.add(name, buffer, 17 + number)
        report.counts[f"load {slot.cause or 'hit'}"] += 1
    return {name: slot.cause for name, slot in zip(names, task.slots, strict=True)}


def look_up(tier: Tier, refs: list[Ref], report: Report) -> LookupTask | None:
    """Look one chain up."""
    task = answered(report, "lookup", lambda done: tier.lookup(refs, [range(len(refs))], done))
    return task if isinstance(task, LookupTask) else None


def write(base: Path, pod: str, seed: int, path: Path, when: When) -> None:
    """Store parts of chains until the time is over."""
    _quiet()
    chance, report = random.Random(seed), Report(path)
    tier, end = tier_of(base, pod, chance), when.wait()
    while time.monotonic() < end:
        chain = chance.choice(objects.CHAIN_NAMES)
        store(tier, chain[: chance.randint(1, len(chain))], report)
    tier.close()
    report.end()


def read(base: Path, pod: str, seed: int, path: Path, when: When) -> None:
    """Look chains up and load what is said to be there, and sometimes what is not."""
    _quiet()
    chance, report = random.Random(seed), Report(path)
    tier, end = tier_of(base, pod, chance), when.wait()
    quarantine = Quarantine(report)
    while time.monotonic() < end:
        chain = chance.choice(objects.CHAIN_NAMES)
        refs = [objects.ref(name) for name in chain]
        looked = look_up(tier, refs, report)
        found = [name for name, hit in zip(chain, looked.found if looked else b"", strict=False) if hit]
        report.counts["lookup hit"] += len(found)
        wanted = found if chance.random() < 0.8 else chain
        if wanted:
            load(tier, wanted, report, quarantine)
    tier.close()
    time.sleep(0.05)
    quarantine.check()
    report.end()


def keep(mount: Path, path: Path, when: When) -> None:
    """Rounds of the keeper; what the volume's faults break is begun anew."""
    _quiet()
    report, end = Report(path), when.wait()
    while time.monotonic() < end:
        try:
            keeper_of(mount, tmp=1.0).round()
            report.counts["round"] += 1
        except OSError:
            report.counts["round failed"] += 1
        time.sleep(0.05)
    report.end()


def keeper_of(mount: Path, *, tmp: float, quota: int = objects.SIZE * len(objects.NAMES) // 3) -> Keeper:
    """A keeper that has something to evict. ``tmp``: seconds after which a silent writer is dead."""
    settings = Settings(
        mount=str(mount),
        volume=Limit(bytes=quota),
        grace=Grace(object=0.0, tmp=tmp, directory=0.0, ghost=0.0),
        operations=1e6,
        deletes=1e6,
    )
    return Keeper(settings, health=lambda: Health(True, "the tests say so"))


def _quiet() -> None:
    end_with_parent()
    logging.disable(logging.ERROR)
