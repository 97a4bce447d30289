"""One run: processes, faults, kills, one round of the keeper, and the judgement."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

from faultfs.daemon import FaultFs
from tiered_kv_cache.l2 import format, paths

from . import faults, objects, worker

WRITERS = READERS = 4
CONTEXT = multiprocessing.get_context("forkserver")
# The server never has a second thread; what it forks starts in milliseconds.
CONTEXT.set_forkserver_preload(["l2faults.preload"])


def start_server() -> None:
    """Start it now: Python 3.11 does not tell it this process's module path, and preloading would fail in silence."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


SECONDS = (0.05, 0.5)
"""Shortest and longest time between the start of the processes and the first kill."""
EXIT_SECONDS = 90.0


@dataclass
class Totals:
    """Over all runs."""

    runs: int = 0
    kills: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    bad_files: Counter[str] = field(default_factory=Counter)
    """Bad files found on the disk after a run, by what was wrong with them."""
    left: int = 0
    """Temporary files that dead processes had left."""
    damaged: int = 0
    """Good files that were damaged on purpose before a run."""

    def __str__(self) -> str:
        kinds = ", ".join(f"{name} {number}" for name, number in self.counts.most_common())
        bad = ", ".join(f"{name} {number}" for name, number in self.bad_files.most_common()) or "none"
        return (
            f"{self.runs} runs, {self.kills} processes killed, {self.damaged} files damaged; temporary files left and then "
            f"removed by one round of the keeper: {self.left}; bad files left, then repaired or gone: {bad}\n{kinds}"
        )


def damage(path: Path, chance: random.Random) -> None:
    """Change a bit, cut the file, or put another object's bytes in its place."""
    with path.open("rb+") as file:
        size = max(1, os.fstat(file.fileno()).st_size)
        match chance.randrange(3):
            case 0:
                at = chance.choice([chance.randrange(size), chance.randrange(200)])
                file.seek(at)
                old = file.read(1)
                file.seek(at)
                file.write(bytes([(old or b"\0")[0] ^ 1 << chance.randrange(8)]))
            case 1:
                file.truncate(chance.choice([0, 4096, chance.randrange(size)]))
            case _:
                other = chance.choice([name for name in objects.NAMES if name not in path.name])
                header = format.Header(
                    other, objects.SIZE, format.payload_checksum(objects.payload(other)), objects.LAYOUT, time.time_ns()
                )
                file.write(format.encode_header(header) + objects.payload(other))


class Run:
    """A run can be repeated by its seed, as far as the scheduler allows."""

    def __init__(self, fs: FaultFs, folder: Path, seed: int, totals: Totals, *, beside: bool = False) -> None:
        """`beside`: everybody works in the backing directory, past the faults; there reads may come straight from the page cache."""
        self._fs, self._reports, self._seed, self._totals = fs, folder, seed, totals
        self._chance = random.Random(seed)
        self._mount = fs.backing if beside else fs.mount
        self._base = self._mount / objects.FOLDER
        self._real = fs.backing / objects.FOLDER
        self._processes: list[BaseProcess] = []
        self._gate = folder / f"{seed}-go"
        start_server()
        self._number = 0
        self.faults = faults.choose(self._chance, seed)

    def go(self) -> list[str]:
        """Everything that was wrong, as texts; empty if all is right."""
        try:
            self._storm()
        finally:
            self._fs.faults.clear("EIO" if self._chance.random() < 0.5 else "proceed")
            wrong = self._end_all()
        wrong += self._reported()
        if "stale" in self.faults:
            time.sleep(0.35)
        wrong += self._after()
        self._totals.runs += 1
        context = f"seed {self._seed}, faults {', '.join(self.faults) or 'none'}"
        return [f"{context}: {text}" for text in wrong]

    def _storm(self) -> None:
        chance = self._chance
        for _ in range(WRITERS):
            self._start(worker.write)
        for _ in range(READERS):
            self._start(worker.read)
        self._start(worker.keep)
        self._all_at_work()
        before = chance.random() < 0.5
        if before:
            faults.switch_on(self._fs.faults, self.faults, chance)
        self._churn(chance.uniform(*SECONDS))
        if not before:
            faults.switch_on(self._fs.faults, self.faults, chance)
            self._churn(chance.uniform(0, 0.3))
        for victim in chance.sample(self._processes, chance.randint(1, len(self._processes))):
            self._churn(chance.uniform(0, 0.03))
            if victim.is_alive() and victim.pid:
                victim.kill()
                self._totals.kills += 1
                if chance.random() < 0.3:
                    # Another Pod takes its place while the dead one's operations may still hang.
                    self._start(chance.choice([worker.write, worker.read]))
        self._churn(chance.uniform(0, 0.3))

    def _all_at_work(self) -> None:
        """Wait for the reports that every process opens first: who is killed before has tested nothing."""
        end = time.monotonic() + EXIT_SECONDS
        while len(list(self._reports.glob(f"{self._seed}-*.json"))) < len(self._processes):
            if time.monotonic() > end:
                raise TimeoutError("the processes did not start")
            time.sleep(0.005)
        self._gate.touch()

    def _churn(self, seconds: float) -> None:
        """Let time pass; objects go, and some are damaged, so that there is always something to store and to repair."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            path = self._real / paths.object_path(self._chance.choice(objects.NAMES))
            with contextlib.suppress(FileNotFoundError):
                if self._chance.random() < 0.8:
                    path.unlink()
                else:
                    damage(path, self._chance)
                    self._totals.damaged += 1
            time.sleep(0.004)

    def _start(self, target: Callable[..., None]) -> None:
        self._number += 1
        name = f"pod-{self._number}"
        report = self._reports / f"{self._seed}-{name}.json"
        seconds = self._chance.uniform(0.3, 0.9)
        when = worker.When(self._gate, seconds)
        arguments: tuple[object, ...] = (self._base, name, self._chance.randrange(1 << 30), report, when)
        if target is worker.keep:
            arguments = (self._mount, report, when)
        process = CONTEXT.Process(target=target, args=arguments, name=f"{target.__name__} {name}", daemon=True)
        process.start()
        self._processes.append(process)

    def _end_all(self) -> list[str]:
        """The faults are off: everybody ends by itself, and nobody crashes."""
        wrong = []
        end = time.monotonic() + EXIT_SECONDS
        for process in self._processes:
            process.join(max(0.1, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                wrong.append(f"{process.name} did not end within {EXIT_SECONDS:g} s after the faults")
            elif process.exitcode not in (0, -signal.SIGKILL):
                wrong.append(f"{process.name} ended with {process.exitcode}")
        return wrong

    def _reported(self) -> list[str]:
        wrong = []
        for path in sorted(self._reports.glob(f"{self._seed}-*.json")):
            for line in path.read_text().splitlines():
                said = json.loads(line)
                if "wrong" in said:
                    wrong.append(f"{path.stem}: {said}")
                self._totals.counts.update(said.get("counts", {}))
            path.unlink()
        return wrong

    def _after(self) -> list[str]:
        """One round of the keeper, then loads of everything, then stores of everything."""
        wrong: list[str] = []
        found = objects.scan(self._real)
        self._totals.left += len(found.temporary)
        self._totals.bad_files.update(
            text if text in ("payload", "checksum") else "length" for text in found.bad.values()
        )
        # As if the grace were over: all writers are dead. Everything may stay, so that bad files meet a reader.
        worker.keeper_of(self._mount, tmp=-2.0, quota=1 << 40).round()
        found = objects.scan(self._real)
        wrong += [f"{place} is left after a round of the keeper" for place in found.temporary + found.strange]

        report = worker.Report(self._reports / f"{self._seed}-after.json")
        quarantine = worker.Quarantine(report)
        tier = worker.tier_of(self._base, "after", self._chance, **PATIENT)
        try:
            for name, cause in worker.load(tier, objects.NAMES, report, quarantine).items():
                if (cause is None) != (name in found.good):
                    wrong.append(
                        f"{name} is {found.bad.get(name, 'good' if name in found.good else 'absent')}: load said {cause}"
                    )
            bad = objects.scan(self._real).bad
            wrong += [f"{name} is still there after it was read: {text}" for name, text in bad.items()]
            task = worker.store(tier, objects.NAMES, report)
            causes = {slot.cause for slot in task.slots} if task else {"never"}
            if causes != {None}:
                wrong.append(f"stores without faults: {causes}")
            for name, cause in worker.load(tier, objects.NAMES, report, quarantine).items():
                if cause is not None:
                    wrong.append(f"{name} was stored, load said {cause}")
        finally:
            tier.close()
        found = objects.scan(self._real)
        wrong += [f"{place} is left by stores without faults" for place in found.temporary + found.strange]
        wrong += [
            f"{name} is missing or bad after a store: {found.bad.get(name, 'missing')}"
            for name in objects.NAMES
            if name not in found.good
        ]
        quarantine.check()
        return wrong + self._reported()


PATIENT = {
    "load_base_ms": 60_000,
    "stall_ms": 60_000,
    "lookup_deadline_ms": 60_000,
    "store_base_ms": 60_000,
    "positive_cache_ms": 0,
}
"""Without faults nothing is given up, however slow the machine is."""
