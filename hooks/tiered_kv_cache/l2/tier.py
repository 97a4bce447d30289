"""The tier without LMCache: loads, lookups and stores of one fingerprint's directory, and what watches over them."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import metrics as metrics_module
from . import paths
from .breaker import Breaker
from .config import Settings
from .known import Known
from .lookup import Lookup, LookupTask
from .metrics import Metrics
from .probe import Prober, ReadProbe, StoreProbe
from .reader import Parts, Reader
from .recompute import Recompute
from .task import Ref, Task, Watch
from .tree import Tree
from .uselog import UseLog
from .writer import Writer

logger = logging.getLogger(__name__)

LONGEST_READ_PROBE = 5.0
LONGEST_STORE_PROBE = 30.0
"""Seconds between probes at most: a tier that is well again must be used again soon."""
UNREADABLE_KEYS = 4096
EARLY_BYTES = 64 << 20
"""Stored since the last use log: the next one is written before its interval ends, so that the keeper's accounts are never far off."""
EARLY_SECONDS = 2.0
"""Between a log and one that comes early, at least."""
CLOSE_SECONDS = 1.0
"""How long close waits for the last use log."""


class Tier:
    """One fingerprint's directory. No call but delete and close waits for the filesystem, and neither does the constructor."""

    def __init__(self, settings: Settings, metrics: Metrics | None = None) -> None:
        self.settings = settings
        self.metrics = metrics or metrics_module.shared()
        self.writer = paths.new_writer(settings.pod)
        self.tree = Tree(settings.base_path, self.writer, settings.direct_io)
        self.read_breaker = self._breaker("read", LONGEST_READ_PROBE)
        self.store_breaker = self._breaker("store", LONGEST_STORE_PROBE)
        self.watch = Watch()
        present = Known(settings.positive_cache_ms / 1000, settings.positive_cache_keys)
        unreadable = Known(settings.unreadable_ms / 1000, UNREADABLE_KEYS)
        self.recompute = Recompute(settings.recompute_ms_per_chunk)
        parts = Parts(
            settings, self.tree, self.watch, self.metrics, self.read_breaker, present, unreadable, self.recompute
        )
        self._parts = parts
        self.reader = Reader(parts)
        self.lookups = Lookup(parts, lambda: max(self.reader.progress, self.stores.progress))
        self.stores = Writer(parts, self.store_breaker, lambda: self.reader.pool.waiting > 0)
        self.uses = UseLog(self.metrics, settings.use_keys)
        self._probers = [
            Prober(
                self.read_breaker,
                ReadProbe(parts, self.reader.allowed, lambda: self.reader.last_good),
            ),
            Prober(self.store_breaker, StoreProbe(self.tree)),
        ]
        self._stop = threading.Event()
        self._log_early = threading.Event()
        self._logger_done = threading.Event()
        threading.Thread(target=self._log_uses, name="l2-uses", daemon=True).start()
        self.metrics.watch(self)

    def lookup(self, refs: Sequence[Ref], rows: Sequence[range], done: Callable[[LookupTask], None]) -> None:
        """Which objects are there. ``rows``: positions in ``refs`` of each chain, in its order."""
        if not refs:
            raise ValueError("a lookup without keys")

        def finish(task: LookupTask) -> None:
            done(task)
            for row in rows:
                names = [refs[at].name for at in row]
                self.uses.learn(names)
                found = [name for name, at in zip(names, row, strict=True) if task.found[at]]
                if found:
                    self.uses.used(found)
                # Of a prefix only what stands before the first gap is of use; the rest is computed.
                hits = next((at for at, place in enumerate(row) if not task.found[place]), len(names))
                self.recompute.missed(names[hits:])

        self.lookups.submit(refs, finish)

    def load(self, items: Sequence[tuple[Ref, memoryview]], chunks: int, done: Callable[[Task], None]) -> None:
        """Fill the views; see Reader.load."""
        self.reader.load(items, chunks, done)

    def store(self, items: Sequence[tuple[Ref, memoryview]], done: Callable[[Task], None]) -> None:
        """Store the views; see Writer.submit."""
        self.recompute.stored([ref.name for ref, _ in items])

        def finish(task: Task) -> None:
            done(task)
            there = [slot for slot in task.slots if slot.cause is None]
            size = sum(slot.ref.length for slot in there if slot.written)
            if self.uses.put([slot.ref.name for slot in there], size) >= EARLY_BYTES:
                self._log_early.set()

        self.stores.submit(items, finish)

    def delete(self, names: Sequence[str]) -> dict[str, int]:
        """Unlink objects; bytes of those that were there. Raises OSError; may block."""
        sizes = {}
        for name in names:
            self._parts.present.forget(name)
            size = self.tree.delete(name)
            if size:
                sizes[name] = size
        return sizes

    def breakers(self) -> Iterable[tuple[str, bool]]:
        """Name and whether it is open."""
        return [(b.name, b.is_open) for b in (self.read_breaker, self.store_breaker)]

    def stuck(self) -> Iterable[tuple[str, int]]:
        """Pool and threads that hang."""
        return [(pool.name, pool.stuck()) for pool in (self.lookups.pool, self.reader.pool, self.stores.pool)]

    def store_queue_bytes(self) -> int:
        """Bytes of stores that wait or run."""
        return self.stores.queued

    def status(self) -> dict[str, Any]:
        """What report_status shows; from memory alone."""
        return {
            "is_healthy": not self.read_breaker.is_open and not self.store_breaker.is_open,
            "base_path": self.settings.base_path,
            "writer": self.writer,
            "breakers": {b.name: b.cause if b.is_open else "closed" for b in (self.read_breaker, self.store_breaker)},
            "threads_stuck": dict(self.stuck()),
            "store_queue_bytes": self.stores.queued,
            "loads_waiting": self.reader.pool.waiting,
            "direct_io": self.tree.direct,
            "recompute_ms_per_chunk": round(self.recompute.ms_per_chunk, 1),
        }

    def close(self) -> None:
        """Answer everything that is open as a miss. Threads that hang stay behind; they touch no memory but their own."""
        self.watch.close()
        for pool in (self.lookups.pool, self.reader.pool, self.stores.pool):
            pool.close()
        for prober in self._probers:
            prober.close()
        self._stop.set()
        self._log_early.set()
        self._logger_done.wait(CLOSE_SECONDS)

    def _breaker(self, name: str, longest: float) -> Breaker:
        settings = self.settings
        return Breaker(
            name,
            errors=settings.breaker_errors,
            window=settings.breaker_window_ms / 1000,
            probe_interval=settings.probe_interval_ms / 1000,
            longest_interval=longest,
            on_open=self._opened,
        )

    def _opened(self, name: str, cause: str) -> None:
        logger.warning("L2 %s breaker opened (%s): misses until a probe succeeds", name, cause)
        self.metrics.opened.labels(name, cause).inc()

    def _log_uses(self) -> None:
        interval = self.settings.use_interval_s
        # Pods that start together should not write together.
        pause = interval * random.uniform(0.5, 1)
        while not self._stop.is_set():
            if self._log_early.wait(pause):
                # Not one log a store: what follows at once goes into the same one.
                self._stop.wait(EARLY_SECONDS)
            self._log_early.clear()
            pause = interval
            if not self.read_breaker.is_open:
                self.uses.flush(self.tree.write_log)
        if not self.read_breaker.is_open:
            self.uses.flush(self.tree.write_log)
        self._logger_done.set()
