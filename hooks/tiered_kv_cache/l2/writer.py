"""Stores: behind a queue that is bounded in bytes and time, straight from LMCache's memory, visible only when whole.

A store that was given up may still be writing from memory that LMCache uses for something else by now. Such a file never gets
its object's name: whether the slot is still open is asked after the last byte was written, and the checksum was taken under
the slot's gate before.
"""

from __future__ import annotations

import logging
import mmap
import os
import threading
import time
from collections.abc import Callable, Sequence

from . import errors, format
from .breaker import Breaker
from .metrics import STORE
from .pool import Pool
from .reader import Parts
from .task import Ref, Slot, Task

logger = logging.getLogger(__name__)

STEP = 4 << 20
"""Bytes of one write call: a store that was given up ends at the next."""
YIELD_SECONDS = 0.05
"""A store that begins lets loads go first, for this long at most."""
ALIGN = 4096
SLICE_AND_HEADER = format.SLICE + format.HEADER


class _Gone(Exception):
    """The store was given up."""


class _Job:
    """One object."""

    def __init__(self, writer: Writer, slot: Slot) -> None:
        self._writer, self.slot = writer, slot

    def run(self) -> None:
        """In a thread of the pool."""
        self._writer.store(self.slot)

    def abandoned(self) -> bool:
        """Whether it was given up."""
        return not self.slot.open


class Writer:
    """The stores of one tier. ``loading``: whether loads are under way. ``stored``: told each new object."""

    def __init__(self, parts: Parts, stores: Breaker, loading: Callable[[], bool]) -> None:
        self._settings, self._tree, self._watch, self._metrics = parts[:4]
        self._breaker, self._present, self._unreadable = parts.breaker, parts.present, parts.unreadable
        self._stores, self._loading = stores, loading
        self.pool = Pool("store", parts.settings.store_threads)
        self.progress = 0.0
        """Monotonic time at which the filesystem last took bytes, or a file's name."""
        self.queued = 0
        """Payload bytes of stores that wait or run."""
        self._names: set[str] = set()
        self._lock = threading.Lock()
        self._bytes = self._metrics.bytes.labels(STORE)
        self._seconds = self._metrics.seconds.labels(STORE)

    def submit(self, items: Sequence[tuple[Ref, memoryview]], done: Callable[[Task], None]) -> None:
        """Store the views; ``done`` gets the task, once. Never blocks in the filesystem."""
        held = sum(ref.length for ref, _ in items)

        def finish(task: Task) -> None:
            with self._lock:
                self.queued -= held
            self._seconds.observe(time.monotonic() - task.started)
            for slot in task.slots:
                if slot.cause is not None:
                    self._metrics.drops.labels(slot.cause).inc()
            done(task)

        settings = self._settings
        allowed = settings.store_base_ms + settings.store_ms_per_mib * held / (1 << 20)
        task = Task(
            items, time.monotonic() + allowed / 1000, finish, starving=self.pool.starving, gave_up=self._gave_up
        )
        with self._lock:
            full = self.queued > 0 and self.queued + held > settings.store_queue_mib << 20
            self.queued += held
        if full:
            task.give_up(errors.QUEUE_FULL)
        elif self._breaker.is_open or self._stores.is_open:
            task.give_up(errors.BREAKER)
        elif self.pool.all_stuck():
            task.give_up(errors.STUCK)
        else:
            self._watch.add(task)
            for slot in task.slots:
                self.pool.submit(_Job(self, slot))

    def _gave_up(self, cause: str) -> None:
        if cause == errors.DEADLINE:
            self._stores.failed(cause)

    def store(self, slot: Slot) -> None:
        """Write one object. In a thread of the pool."""
        if not slot.open:
            return
        started, ref = time.monotonic(), slot.ref
        if started - slot.task.started > self._settings.store_wait_ms / 1000:
            slot.finish(errors.QUEUE_FULL)
            return
        if self._breaker.is_open or self._stores.is_open:
            slot.finish(errors.BREAKER)
            return
        while self._loading() and time.monotonic() - started < YIELD_SECONDS:
            time.sleep(0.002)
        with self._lock:
            twice = ref.name in self._names
            self._names.add(ref.name)
        if twice:
            self._metrics.stores.labels("present").inc()
            slot.finish(None)
            return
        cause: str | None = None
        try:
            outcome = self._write(slot)
            self._metrics.stores.labels(outcome).inc()
            self._stores.ok()
            self._present.add(ref.name)
            self._unreadable.forget(ref.name)
        except _Gone:
            cause = errors.DEADLINE
        except OSError as err:
            cause = self._failed(err)
        except ValueError:
            cause = errors.KEY
        except Exception:
            logger.exception("L2 store of %s", ref.name)
            cause = errors.INTERNAL
        finally:
            with self._lock:
                self._names.discard(ref.name)
        slot.finish(cause)

    def _failed(self, err: OSError) -> str:
        cause = errors.label(err)
        if err.errno in errors.GONE:
            self._breaker.trip(cause)
        elif err.errno in errors.NO_STORES:
            self._stores.trip(cause)
        else:
            self._stores.failed(cause)
        return cause

    def _write(self, slot: Slot) -> str:
        """Write and publish; which of the outcomes it was. Raises OSError or _Gone; no file is left behind then."""
        ref = slot.ref
        bad = ref.name in self._unreadable
        there = self._tree.length(ref.name)
        if there == format.HEADER + ref.length and not bad:
            # A rename over it would take it from its readers on NFS, and write twice what is there.
            return "present"
        header = format.encode_header(
            format.Header(ref.name, ref.length, self._checksum(slot), ref.layout, time.time_ns(), ref.salt)
        )
        path, fd = self._tree.create()
        try:
            try:
                (self._fill_direct if self._tree.direct else self._fill)(fd, header, slot)
                if not slot.open:
                    raise _Gone
                # From here on the file is whole, whatever becomes of the memory.
                self._tree.share(fd)
                if self._settings.fsync == "data":
                    os.fdatasync(fd)
                if self._settings.drop_stored_pages:
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)
            self._bytes.inc(ref.length)
            if not bad and self._tree.length(ref.name) == format.HEADER + ref.length:
                self._tree.remove(path)
                return "present"
            self._tree.publish(path, ref.name)
            self.progress = time.monotonic()
        except BaseException:
            self._tree.remove(path)
            raise
        slot.written = True
        return "repaired" if bad or there else "stored"

    def _checksum(self, slot: Slot) -> int:
        digests = []
        for at in range(0, slot.ref.length, format.SLICE):
            with slot.gate:
                if not slot.open:
                    raise _Gone
                digests.append(format.slice_digest(slot.view[at : at + format.SLICE]))
        return format.fold(digests)

    def _fill(self, fd: int, header: bytes, slot: Slot) -> None:
        """Header and payload, from the front to the back: a FUSE filesystem may know no other order."""
        pending = [memoryview(header), slot.view[: STEP - len(header)]]
        at = STEP - len(header)
        while True:
            while pending:
                count = os.writev(fd, pending)
                self.progress = time.monotonic()
                while pending and count >= len(pending[0]):
                    count -= len(pending.pop(0))
                if pending:
                    pending[0] = pending[0][count:]
            if at >= slot.ref.length:
                return
            if not slot.open:
                raise _Gone
            pending = [slot.view[at : at + STEP]]
            at += STEP

    def _fill_direct(self, fd: int, header: bytes, slot: Slot) -> None:
        """As _fill, for O_DIRECT: from an aligned buffer, in whole blocks; what is too much is cut off."""
        size = slot.ref.length
        with mmap.mmap(-1, SLICE_AND_HEADER) as memory, memoryview(memory) as buffer:
            buffer[: len(header)] = header
            start, at = len(header), 0
            while at < size:
                n = min(format.SLICE, size - at)
                with slot.gate:
                    if not slot.open:
                        raise _Gone
                    buffer[start : start + n] = slot.view[at : at + n]
                self._write_blocks(fd, buffer, start + n)
                start, at = 0, at + n
        os.ftruncate(fd, len(header) + size)

    def _write_blocks(self, fd: int, buffer: memoryview, n: int) -> None:
        done, want = 0, -(-n // ALIGN) * ALIGN
        while done < want:
            with buffer[done:want] as rest:
                done += os.write(fd, rest)
                self.progress = time.monotonic()
