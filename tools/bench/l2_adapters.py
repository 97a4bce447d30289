"""LMCache's filesystem adapters beside ours and a raw parallel pread of the same sizes, in one run.

    PYTHONPATH=hooks:tools python -m bench.l2_adapters --directory <on the filesystem to measure> [--sizes 1.5,9,14]
        [--threads 1,2,4,8,16] [--total-mib 256] [--rounds 5] [--cold] [--json FILE]

Needs LMCache (and torch) in the interpreter. Contenders take turns in each round, so that a busy machine hits all alike; the
table has the median of the rounds, and ratios of contenders within the same round, median again. Lookup: microseconds a key,
beside os.stat of the same paths in one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lmcache.v1.distributed.api import ObjectKey
from lmcache.v1.distributed.l2_adapters import create_l2_adapter
from lmcache.v1.distributed.l2_adapters.config import get_l2_adapter_config_class
from lmcache.v1.memory_management import MemoryFormat, MemoryObj, MemoryObjMetadata, TensorMemoryObj
from lmcache.v1.platform import consume_fd

TIMEOUT = 300.0
OURS, RAW = "ours", "raw pread"
Sample = tuple[float, float]


def spec(kind: str, base: Path, threads: int) -> dict[str, Any]:
    """What --l2-adapter would say."""
    if kind == OURS:
        return {
            "type": "plugin",
            "module_path": "tiered_kv_cache.l2.adapter",
            "class_name": "FilesystemL2Adapter",
            "adapter_params": {
                "base_path": str(base),
                "pod": "bench",
                "load_threads": threads,
                "lookup_threads": threads,
                "store_threads": threads,
                "store_queue_mib": 4096,
                # What is measured is speed: a machine that is busy with something else must not end a round early.
                "stall_ms": 60_000,
                "lookup_deadline_ms": 60_000,
                "load_base_ms": 120_000,
                "store_base_ms": 120_000,
                "store_wait_ms": 120_000,
                "positive_cache_ms": 0,
            },
        }
    return {"type": kind, "base_path": str(base), **({"num_workers": threads} if kind == "fs_native" else {})}


class Objects:
    """``count`` keys and as many buffers of ``size`` bytes in one piece of memory, as L1 has them."""

    def __init__(self, count: int, size: int) -> None:
        aligned = -(-size // 4096) * 4096
        backing = torch.empty(count * aligned + 4096, dtype=torch.uint8)
        start = -backing.data_ptr() % 4096
        self.size = size
        self.keys = [ObjectKey(os.urandom(32), "bench-model", 0x01000100) for _ in range(count)]
        self.memory: list[MemoryObj] = []
        for n in range(count):
            raw = backing[start + n * aligned : start + n * aligned + size]
            meta = MemoryObjMetadata(torch.Size([size]), torch.uint8, 0, size, 1, fmt=MemoryFormat.KV_2LTD)
            self.memory.append(TensorMemoryObj(raw_data=raw, metadata=meta, parent_allocator=None))

        self.fill()

    def fill(self) -> None:
        """Each with its own byte."""
        for n, obj in enumerate(self.memory):
            obj.raw_data.fill_((n + 1) % 256)

    def clear(self) -> None:
        """Zeros, so that a load shows."""
        for obj in self.memory:
            obj.raw_data.zero_()

    def check(self) -> None:
        """The right bytes came."""
        for n, obj in enumerate(self.memory):
            assert bool((obj.raw_data == (n + 1) % 256).all()), f"object {n} is wrong"


def wait(fd: int, done: Callable[[], bool]) -> None:
    """Until ``done``, as LMCache's controllers wait."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    while not done():
        assert poller.poll(TIMEOUT * 1000), "no answer"
        consume_fd(fd)


class Adapter:
    """One of LMCache's adapters, or ours."""

    def __init__(self, kind: str, base: Path, threads: int) -> None:
        self.base = base
        wanted = spec(kind, base, threads)
        self.adapter = create_l2_adapter(get_l2_adapter_config_class(wanted["type"]).from_dict(wanted))

    def store(self, objects: Objects) -> None:
        task = self.adapter.submit_store_task(objects.keys, objects.memory)
        found: dict[int, Any] = {}

        def done() -> bool:
            found.update(self.adapter.pop_completed_store_tasks())
            return task in found

        wait(self.adapter.get_store_event_fd(), done)
        assert found[task].is_successful()

    def load(self, objects: Objects) -> None:
        found = self._query("load", self.adapter.submit_load_task(objects.keys, objects.memory))
        assert found.popcount() == len(objects.keys)

    def lookup(self, objects: Objects) -> None:
        found = self._query("lookup_and_lock", self.adapter.submit_lookup_and_lock_task(objects.keys, {}))
        assert found.popcount() == len(objects.keys)

    def _query(self, kind: str, task: int) -> Any:
        query = getattr(self.adapter, f"query_{kind}_result")
        found: list[Any] = []

        def done() -> bool:
            if not found and (result := query(task)) is not None:
                found.append(result)
            return bool(found)

        wait(getattr(self.adapter, f"get_{kind}_event_fd")(), done)
        return found[0]

    def close(self) -> None:
        self.adapter.close()


class Raw:
    """The same bytes by os.preadv and os.write, as fast as Python's threads can; lookup is os.stat, in one thread."""

    def __init__(self, base: Path, threads: int) -> None:
        self.base = base
        base.mkdir(parents=True)
        self.pool = ThreadPoolExecutor(threads)

    def store(self, objects: Objects) -> None:
        list(self.pool.map(self._write, range(len(objects.keys)), objects.memory))

    def load(self, objects: Objects) -> None:
        list(self.pool.map(self._read, range(len(objects.keys)), objects.memory))

    def lookup(self, objects: Objects) -> None:
        for path in self.paths:
            os.stat(path)  # noqa: PTH116 - what is measured

    def find(self) -> None:
        """The paths of what was stored, so that making them is not measured."""
        self.paths = [str(self.base / str(n)) for n in range(len(list(self.base.iterdir())))]

    def _write(self, number: int, obj: MemoryObj) -> None:
        with (self.base / str(number)).open("wb", buffering=0) as file:
            view = memoryview(obj.byte_array).cast("B")
            while view:
                view = view[file.write(view) :]

    def _read(self, number: int, obj: MemoryObj) -> None:
        fd = os.open(self.base / str(number), os.O_RDONLY)
        try:
            view, at = memoryview(obj.byte_array).cast("B"), 0
            while at < len(view):
                count = os.preadv(fd, [view[at:]], at)
                assert count
                at += count
        finally:
            os.close(fd)

    def close(self) -> None:
        self.pool.shutdown()


KINDS = (RAW, "fs", "fs_native", OURS)


@contextmanager
def contenders(directory: Path, threads: int) -> Iterator[dict[str, Any]]:
    made: dict[str, Any] = {}
    try:
        for kind in KINDS:
            base = directory / kind.replace(" ", "-")
            made[kind] = Raw(base, threads) if kind == RAW else Adapter(kind, base, threads)
        yield made
    finally:
        for contender in made.values():
            contender.close()
            shutil.rmtree(contender.base, ignore_errors=True)


def drop(base: Path) -> None:
    """Written, and out of the page cache as far as the kernel does it."""
    for path in base.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor in all threads."""
    begun, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - cpu


def measure(
    directory: Path, size: int, threads: int, *, total: int, rounds: int, cold: bool
) -> dict[str, dict[str, list[Sample]]]:
    """Seconds by operation and contender, one a round. ``size`` and ``total`` in bytes."""
    count = max(8, total // size)
    objects = Objects(count, size)
    seconds: dict[str, dict[str, list[Sample]]] = {
        op: {kind: [] for kind in KINDS} for op in ("store", "load", "cold load", "lookup")
    }
    for number in range(rounds + 1):
        with contenders(directory, threads) as found:
            order = list(found.items())[number % len(found) :] + list(found.items())[: number % len(found)]
            taken: dict[str, dict[str, Sample]] = {op: {} for op in seconds}
            for kind, contender in order:
                objects.fill()
                taken["store"][kind] = timed(partial(contender.store, objects))
                if kind == RAW:
                    contender.find()
            for kind, contender in order:
                contender.load(objects)  # Whatever the stores left in the page cache: all start alike.
                objects.clear()
                taken["load"][kind] = timed(partial(contender.load, objects))
                objects.check()
                taken["lookup"][kind] = min(timed(partial(contender.lookup, objects)) for _ in range(5))
            for kind, contender in order if cold else []:
                drop(contender.base)
                taken["cold load"][kind] = timed(partial(contender.load, objects))
        if number:  # The first round warms up: memory, threads, imports.
            for op, by_kind in taken.items():
                for kind, value in by_kind.items():
                    seconds[op][kind].append(value)
    return {op: by for op, by in seconds.items() if by[OURS]}


def row(op: str, size: int, threads: int, count: int, by: dict[str, list[Sample]]) -> dict[str, Any]:
    """Medians in GB/s, or in microseconds a key for lookups, and ours to each other contender (above 1: ours is better).

    ``cpu``: processor seconds a GB, or microseconds a key; a busy machine changes it least.
    """
    unit = count / 1e6 if op == "lookup" else size * count / 1e9
    cpu = {kind: statistics.median(c for _, c in values) / unit for kind, values in by.items()}
    wall = {kind: statistics.median(w for w, _ in values) / unit for kind, values in by.items()}
    shown = wall if op == "lookup" else {kind: 1 / value for kind, value in wall.items()}
    others = [kind for kind in KINDS if kind != OURS]

    def ratios(at: int) -> dict[str, float]:
        return {k: statistics.median(t[at] / o[at] for t, o in zip(by[k], by[OURS], strict=True)) for k in others}

    return {
        "op": op,
        "size_mb": size / 1e6,
        "threads": threads,
        "shown": shown,
        "cpu": cpu,
        "ratios": ratios(0),
        "cpu_ratios": ratios(1),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown."""
    lines = [
        "| operation | MB | threads | raw | fs | fs_native | ours | ours/raw | ours/fs | ours/fs_native "
        "| CPU raw | CPU fs_native | CPU ours |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for r in sorted(rows, key=lambda r: (r["op"], r["size_mb"], r["threads"])):
        shown = " | ".join(f"{r['shown'][kind]:.2f}" for kind in KINDS)
        ratios = " | ".join(f"{r['ratios'][kind]:.2f}" for kind in KINDS if kind != OURS)
        cpu = " | ".join(f"{r['cpu'][kind]:.2f}" for kind in (RAW, "fs_native", OURS))
        lines.append(f"| {r['op']} | {r['size_mb']:g} | {r['threads']} | {shown} | {ratios} | {cpu} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--sizes", default="1.5,9,14", help="MB")
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--total-mib", type=int, default=256, help="bytes of one round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="loads with a dropped page cache as well")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    directory = args.directory / f"l2-bench-{os.getpid()}"
    rows = []
    try:
        for size in (int(float(text) * 1e6) for text in args.sizes.split(",")):
            for threads in (int(text) for text in args.threads.split(",")):
                before = os.getloadavg()[0]
                seconds = measure(
                    directory, size, threads, total=args.total_mib << 20, rounds=args.rounds, cold=args.cold
                )
                count = max(8, (args.total_mib << 20) // size)
                rows += [row(op, size, threads, count, by) | {"load": before} for op, by in seconds.items()]
                print(f"{size / 1e6:g} MB, {threads} threads: done, load {before:.1f}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped; what was measured:", file=sys.stderr)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if not rows:
        return 1
    print(table(rows))
    loads = [r["load"] for r in rows]
    print(
        f"\n{os.cpu_count()} cores, load average {min(loads):.1f} to {max(loads):.1f}, {threading.active_count()} threads left"
    )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
