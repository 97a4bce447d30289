"""Reads of cached objects while the keeper evicts others: bytes a second beside the same reads without it.

``python -m bench.eviction DIR --gb 10`` with PYTHONPATH=hooks:tools; DIR is made, and removed afterwards. Nothing here is
asserted: compare the figures of one run with each other.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from .keeper import CHAIN, ROOT

SIZE = 13_000_000
"""Bytes of an object."""
READ = 64
"""Objects that are read, of those that are used most; four threads."""
THREADS = 4
PHASE_S = 10.0
YOUNG_S = 31.0
"""The keeper evicts nothing that was stored or used more recently."""


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--gb", type=float, default=10.0, help="to evict")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    gone, kept = int(args.gb * 1e9 / SIZE), 2 * READ
    left = os.statvfs(args.dir.parent)
    if left.f_bavail * left.f_frsize < (gone + kept) * SIZE * 1.2:
        sys.exit(f"{args.dir.parent} has too little space left for {(gone + kept) * SIZE / 1e9:.0f} GB")
    try:
        for cached in (True, False):
            for _ in range(args.rounds):
                measure(args.dir, gone, kept, cached=cached)
                shutil.rmtree(args.dir)
    finally:
        shutil.rmtree(args.dir, ignore_errors=True)


def build(mount: Path, count: int, used: int) -> list[Path]:
    """Objects of random bytes, the oldest first; a use log names the last `used` ones, which are returned."""
    source, block = random.Random(1), os.urandom(SIZE)
    names = []
    for _ in range(count):
        digits = source.randbytes(32).hex()
        path = mount / ROOT / "objects" / digits[:2] / digits[2:4] / f"{digits}@00000001@0.kv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(block)
        names.append(path)
    os.sync()
    folder = mount / ROOT / "use" / "engine-0.00000000"
    folder.mkdir(parents=True)
    kept = [path.name.removesuffix(".kv") for path in names[-used:]]
    lines = [f"{int(time.time())} use {' '.join(kept[at : at + CHAIN])}\n" for at in range(0, used, CHAIN)]
    (folder / "0.log").write_text("".join(lines))
    return names[-used:]


class Readers:
    """Threads that read whole objects at random until they are stopped."""

    def __init__(self, paths: list[Path], *, cached: bool) -> None:
        self._paths, self._cached = paths, cached
        self._stop = threading.Event()
        self.bytes = 0
        self._threads = [threading.Thread(target=self._read, args=(number,)) for number in range(THREADS)]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self, number: int) -> None:
        dice, buffer = random.Random(number), bytearray(1 << 20)
        while not self._stop.is_set():
            fd = os.open(dice.choice(self._paths), os.O_RDONLY)
            if not self._cached:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            at = 0
            while count := os.preadv(fd, [buffer], at):
                at += count
                self.bytes += count
            os.close(fd)

    def rate(self, seconds: float) -> float:
        """GB/s of the next seconds."""
        before, began = self.bytes, time.monotonic()
        time.sleep(seconds)
        return (self.bytes - before) / (time.monotonic() - began) / 1e9


def measure(mount: Path, gone: int, kept: int, *, cached: bool) -> None:
    """Reads alone, beside the keeper until it has evicted what is above its quota, and alone again."""
    mount.mkdir(exist_ok=True)
    used = build(mount, gone + kept, kept)
    time.sleep(YOUNG_S)
    settings = {"mount": str(mount), "quota": int((kept + 1) * SIZE / 0.7), "highWatermark": 0.75, "lowWatermark": 0.7}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, Readers(used[:READ], cached=cached) as readers:
        json.dump(settings, file)
        file.flush()
        readers.rate(2)
        before = readers.rate(PHASE_S)
        read, began, rounds = readers.bytes, time.monotonic(), 0
        while (left := _objects(mount)) > kept + 1:
            subprocess.run(
                [sys.executable, "-m", "tiered_kv_cache", "keeper", "--config", file.name, "--once"],
                stdout=subprocess.DEVNULL, check=True,
            )  # fmt: skip
            rounds += 1
            if _objects(mount) == left:
                sys.exit(f"a round of the keeper evicted nothing; {left} objects are left")
        took = time.monotonic() - began
        beside = (readers.bytes - read) / took / 1e9
        after = readers.rate(PHASE_S)
    print(
        f"{'page cache' if cached else 'disk'}: reads alone {before:.2f} and {after:.2f} GB/s, beside the eviction of "
        f"{gone * SIZE / 1e9:.0f} GB in {took:.1f} s and {rounds} rounds {beside:.2f}; "
        f"beside / alone {beside / statistics.mean([before, after]):.2f}",
        flush=True,
    )


def _objects(mount: Path) -> int:
    return sum(1 for _ in (mount / ROOT / "objects").rglob("*.kv"))


if __name__ == "__main__":
    main()
