"""Two Pods that store new prompts as fast as they compute them, for ten minutes: the keeper holds the quota."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kubernetes import client

from local_cluster.settings import NODE_SHARED, PLACES

from ..engines import CHUNK, prompt_of
from .conftest import SMOLLM2, Install

SECONDS = 600
QUOTA = 2 * 2**30
LENGTH = 7 * CHUNK + 20
VOLUME = PLACES.state / "shared" / "l2-quota"


@pytest.fixture
def volume() -> Iterator[Path]:
    shutil.rmtree(VOLUME, ignore_errors=True)
    VOLUME.mkdir()
    VOLUME.chmod(0o1777)
    yield VOLUME
    shutil.rmtree(VOLUME, ignore_errors=True)


def used(folder: Path) -> int:
    """Bytes that files take, as the quota counts them; files may go meanwhile."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += (Path(root) / name).lstat().st_blocks * 512
    return total


def test_quota_under_constant_stores(install: Install, volume: Path) -> None:
    l2 = {"volume": {"hostPath": {"path": f"{NODE_SHARED}/{VOLUME.name}"}}, "keeper": {"quota": QUOTA}}
    engines = install(SMOLLM2, replicas=2, l2=l2)
    numbers, end, stop = itertools.count(), time.monotonic() + SECONDS, threading.Event()
    samples: list[int] = []

    def watch() -> None:
        while not stop.wait(1):
            samples.append(used(volume))

    def store(pod: client.V1Pod) -> int:
        asked = 0
        while time.monotonic() < end:
            engines.ask(pod, prompt_of(f"quota{next(numbers)}", LENGTH), 1)
            asked += 1
        return asked

    pods = engines.pods()
    before = [engines.counters(pod) for pod in pods]
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(2 * len(pods)) as pool:
            asked = sum(pool.map(store, [*pods, *pods]))
    finally:
        stop.set()
        watcher.join()
    stored = sum(engines.counters(pod).since(b).stored_chunks for pod, b in zip(pods, before, strict=True))
    settled = samples[next(i for i, size in enumerate(samples) if size > 0.8 * QUOTA) :]
    print(
        f"{asked} prompts, {stored:.0f} chunks stored in {SECONDS} s; used at most {max(samples) / QUOTA:.3f} of the quota, "
        f"{min(settled) / QUOTA:.3f} at least once it was full, {used(volume) / QUOTA:.3f} at the end"
    )
    assert max(samples) <= 1.02 * QUOTA
    assert min(settled) >= 0.6 * QUOTA, "more went than the low watermark asks"
