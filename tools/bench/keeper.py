"""The keeper's sweep beside ``find -printf`` on the same tree: wall seconds, CPU seconds, memory.

``python -m bench.keeper DIR --files 1000000`` with PYTHONPATH=hooks:tools; DIR is made, and removed afterwards unless --keep.
Nothing here is asserted: compare the figures of one run with each other.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path("v1/retail/tiny/0123456789abcdef")
CHAIN = 32
"""Objects of one chain in the use logs."""


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--sweep", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.sweep:
        print(json.dumps(sweep(args.dir)))
        return
    left = os.statvfs(args.dir.parent)
    if left.f_favail < args.files + 70_000 or left.f_bavail * left.f_frsize < args.files * 5000:
        sys.exit(f"{args.dir.parent} has too few inodes or too little space left for {args.files} files")
    if not (args.dir / ROOT).exists():
        print(f"built in {build(args.dir, args.files):.0f} s", flush=True)
    try:
        measure(args.dir, args.rounds)
    finally:
        if not args.keep:
            shutil.rmtree(args.dir)


def build(mount: Path, files: int) -> float:
    """Files of one byte, spread as hashes are, in 65,536 directories; a use log names a tenth of them."""
    began, source = time.monotonic(), random.Random(1)
    objects = mount / ROOT / "objects"
    for i in range(65536):
        (objects / f"{i >> 8:02x}" / f"{i & 255:02x}").mkdir(parents=True)
    names = []
    for i in range(files):
        digits = source.randbytes(32).hex()
        name = f"{digits}@00000001@0"
        fd = os.open(objects / digits[:2] / digits[2:4] / f"{name}.kv", os.O_WRONLY | os.O_CREAT, 0o666)
        os.write(fd, b"k")
        os.close(fd)
        if i % 10 == 0:
            names.append(name)
    folder = mount / ROOT / "use" / "engine-0.00000000"
    folder.mkdir(parents=True)
    now = int(time.time())
    lines = [f"{now} use {' '.join(names[at : at + CHAIN])}\n" for at in range(0, len(names), CHAIN)]
    (folder / "0.log").write_text("".join(lines))
    return time.monotonic() - began


def measure(mount: Path, rounds: int) -> None:
    """find and keeper in turn, the first pair only to warm the caches."""
    for number in range(rounds + 1):
        load = os.getloadavg()[0]
        began, cpu = time.monotonic(), _children()
        subprocess.run(
            ["find", mount / ROOT, "-type", "f", "-printf", "%p %s %b %T@\\n"], stdout=subprocess.DEVNULL, check=True
        )
        found = {"wall": time.monotonic() - began, "cpu": _children() - cpu}
        kept = json.loads(
            subprocess.run([sys.executable, __file__, str(mount), "--sweep"], stdout=subprocess.PIPE, check=True).stdout
        )
        if number:
            print(
                f"load {load:.1f}: find {found['wall']:.2f} s ({found['cpu']:.2f} CPU); keeper "
                + ", ".join(f"{k} {v}" for k, v in kept.items())
                + f"; sweep / find {kept['sweep s'] / found['wall']:.2f}",
                flush=True,
            )


def sweep(mount: Path) -> dict[str, Any]:
    """One keeper of its own: sweep, second sweep, plan; memory with all that a Pod's process imports."""
    import kubernetes.client  # noqa: F401, PLC0415

    from tiered_kv_cache.keeper import config, metrics, plan, server  # noqa: F401, PLC0415
    from tiered_kv_cache.keeper.keeper import Keeper  # noqa: PLC0415

    raw = {"sweep": {"operationsPerSecond": 0}, "evict": {"filesPerSecond": 0}}
    keeper = Keeper(config.parse(raw, "bench", str(mount)), dry=False)
    keeper._begin()
    result: dict[str, Any] = {"start MB": _memory()}
    for name in ("sweep", "next sweep"):
        began, cpu = time.monotonic(), time.process_time()
        for _ in keeper.sweep.steps():
            pass
        result[f"{name} s"] = round(time.monotonic() - began, 2)
        result[f"{name} CPU s"] = round(time.process_time() - cpu, 2)
    result["MB"] = _memory()
    began = time.monotonic()
    keeper._read_logs()
    result["logs s"] = round(time.monotonic() - began, 2)
    began = time.monotonic()
    victims = plan.oldest(keeper.x.table.of(), keeper.x.accounting.charge, 2**32, 1000)
    result["plan of 1000 s"] = round(time.monotonic() - began, 2)
    assert len(victims) == min(1000, keeper.x.table.objects)
    began = time.monotonic()
    keeper.settle()
    result["record s"] = round(time.monotonic() - began, 2)
    keeper.publish()
    result["objects"] = keeper.x.table.objects
    result["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return result


def _memory() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
