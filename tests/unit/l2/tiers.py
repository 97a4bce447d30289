"""A tier on a directory of its own, driven as LMCache drives it, and calls into the filesystem that fail or hang on demand."""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tiered_kv_cache.l2 import paths
from tiered_kv_cache.l2.config import Settings
from tiered_kv_cache.l2.lookup import LookupTask
from tiered_kv_cache.l2.metrics import Metrics
from tiered_kv_cache.l2.task import Ref, Task
from tiered_kv_cache.l2.tier import Tier

LAYOUT = 0x1234
SIZE = (2 << 20) + 12_345
"""Three slices."""
PATIENCE = 30.0
"""Seconds after which a test fails; nothing here is about time."""


def name(number: int, group: int = 0) -> str:
    """A key's name."""
    return paths.object_name(number.to_bytes(2, "big") * 16, 0x01000100, group)


def payload(seed: int, size: int = SIZE) -> bytes:
    """Bytes that differ for each seed at every place."""
    block = bytes((seed * 31 + i * 7) & 0xFF for i in range(4096))
    return (block * (size // 4096 + 1))[:size]


SHORT: dict[str, Any] = {"stall_ms": 200.0, "lookup_deadline_ms": 200.0}
"""For tests in which the filesystem hangs. On a busy machine, a thread may not run for longer: ask again after such a test."""


def until(condition: Callable[[], bool], what: str = "the condition") -> None:
    """Wait for ``condition``."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not come true"
        time.sleep(0.002)


class Answer:
    """A task's answer: it comes once."""

    def __init__(self) -> None:
        self.times = 0
        self.task: Any = None
        self._come = threading.Event()

    def __call__(self, task: Any) -> None:
        self.times += 1
        self.task = task
        self._come.set()

    def wait(self) -> Any:
        assert self._come.wait(PATIENCE), "no answer"
        return self.task

    @property
    def there(self) -> bool:
        return self._come.is_set()


class Load:
    """A load under way, into buffers that held somebody else's bytes."""

    def __init__(self, numbers: Sequence[int], size: int) -> None:
        self.numbers = numbers
        self.buffers = [bytearray(b"\xaa" * size) for _ in numbers]
        self.answer = Answer()

    def causes(self) -> list[str | None]:
        """None for each hit; the bytes of a hit are right."""
        task: Task = self.answer.wait()
        causes = [slot.cause for slot in task.slots]
        assert self.answer.times == 1
        for number, buffer, cause in zip(self.numbers, self.buffers, causes, strict=True):
            if cause is None:
                assert bytes(buffer) == payload(number, len(buffer))
        return causes


class Bench:
    """A tier and its registry."""

    def __init__(self, base: Path, **change: Any) -> None:
        quick: dict[str, Any] = {
            "stall_ms": 20_000.0,
            "lookup_deadline_ms": 20_000.0,
            "probe_interval_ms": 20.0,
            "positive_cache_ms": 0.0,
            "load_base_ms": 20_000.0,
            # What the tier learns of its "engine" here is a store's few milliseconds.
            "load_floor_ms": 20_000.0,
            "use_interval_s": 3600.0,
        }
        self.base = base
        self.registry = CollectorRegistry()
        self.settings = replace(Settings(base_path=str(base), pod="tiny-0"), **{**quick, **change})
        self.tier = Tier(self.settings, Metrics(self.registry))

    def value(self, metric: str, **labels: str) -> float:
        """A metric's value; 0 if it has none yet."""
        return self.registry.get_sample_value(f"tkc_l2_{metric}", labels) or 0.0

    def ref(self, number: int, size: int = SIZE, layout: int = LAYOUT) -> Ref:
        return Ref(name(number), "", layout, size)

    def store(self, *numbers: int, size: int = SIZE) -> list[str | None]:
        answer = Answer()
        self.tier.store([(self.ref(n, size), memoryview(bytearray(payload(n, size)))) for n in numbers], answer)
        return [slot.cause for slot in answer.wait().slots]

    def begin_store(self, *items: tuple[int, bytearray]) -> Answer:
        """Store under way, from memory that the test keeps."""
        answer = Answer()
        self.tier.store([(self.ref(n, len(data)), memoryview(data)) for n, data in items], answer)
        return answer

    def begin(self, *numbers: int, size: int = SIZE, layout: int = LAYOUT) -> Load:
        load = Load(numbers, size)
        items = [(self.ref(n, size, layout), memoryview(b)) for n, b in zip(numbers, load.buffers, strict=True)]
        self.tier.load(items, len(numbers), load.answer)
        return load

    def load(self, *numbers: int, size: int = SIZE, layout: int = LAYOUT) -> list[str | None]:
        return self.begin(*numbers, size=size, layout=layout).causes()

    def lookup(self, *numbers: int, size: int = SIZE) -> list[bool]:
        answer = Answer()
        self.tier.lookup([self.ref(n, size) for n in numbers], [range(len(numbers))], answer)
        task: LookupTask = answer.wait()
        until(lambda: task.open >= 0)
        return [bool(b) for b in task.found]

    def file(self, number: int) -> Path:
        return self.base / paths.object_path(name(number))

    def leftovers(self) -> list[str]:
        """Files that should not be there once nothing is under way."""
        return [str(p) for p in (self.base / "tmp").rglob("*") if not p.is_dir()]


@contextmanager
def bench(base: Path, **change: Any) -> Iterator[Bench]:
    made = Bench(base, **change)
    try:
        yield made
    finally:
        made.tier.close()


def of(fd: Any) -> str:
    """Path of a descriptor, or the path itself."""
    return str(Path(f"/proc/self/fd/{fd}").readlink()) if isinstance(fd, int) else str(fd)


class Fault:
    """Replaces ``os.<call>`` for paths that contain ``part``: raises, hangs, or answers otherwise. ``calls`` counts them."""

    def __init__(self, patch: pytest.MonkeyPatch, call: str, part: str, act: Callable[..., Any] | int) -> None:
        self.calls = 0
        self.on = True
        real = getattr(os, call)

        def replacement(first: Any, *rest: Any, **more: Any) -> Any:
            if not self.on or part not in of(first):
                return real(first, *rest, **more)
            if call == "preadv" and len(rest) > 2:
                # The read that does not wait: not of a filesystem that hangs or fails.
                raise OSError(errno.EAGAIN, "not in the page cache")
            self.calls += 1
            if isinstance(act, int):
                raise OSError(act, os.strerror(act))
            return act(real, first, *rest, **more)

        patch.setattr(os, call, replacement)


class Release:
    """Lets all go who wait, now and later."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._closed = False

    def set(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._write)

    def wait(self) -> None:
        """In the kernel, as a filesystem lets wait; not in one of Python's locks, which the adapter tells apart."""
        assert select.select([self._read], [], [], PATIENCE)[0], "never released"


class Hang:
    """A call that blocks until it is released, from the ``after``-th on."""

    def __init__(self, after: int = 0) -> None:
        self.released = Release()
        self.entered = 0
        self.left = 0
        self._after = after
        self._lock = threading.Lock()

    def __call__(self, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        with self._lock:
            self.entered += 1
            blocked = self.entered > self._after
        if blocked:
            self.released.wait()
        try:
            return real(*args, **more)
        finally:
            with self._lock:
                self.left += 1


ERRNOS = {
    "EIO": errno.EIO,
    "ESTALE": errno.ESTALE,
    "ETIMEDOUT": errno.ETIMEDOUT,
    "ENODATA": errno.ENODATA,
    "EACCES": errno.EACCES,
    "other": errno.EAGAIN,
    "ENOTCONN": errno.ENOTCONN,
}
