"""Loads: objects are read by several threads, each into a small buffer of its own, verified there slice by slice, and copied
into the buffers of all requests that wait for them.

A read that may wait never goes straight into LMCache's memory: if it hangs, it writes there whenever it comes back. Only what
lies in the page cache is read there directly, under the slot's gate, by a call that the kernel ends at once if it would have to
wait (RWF_NOWAIT; filesystems that cannot promise that, FUSE and NFS among them, refuse it). Copy and gate cost what
docs/benchmarks/l2.md says.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import mmap
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import errors, format
from .breaker import Breaker
from .config import Settings
from .known import Known
from .metrics import LOAD, Metrics
from .pool import Pool
from .recompute import Recompute
from .task import Ref, Slot, Task, Watch
from .tree import Tree

logger = logging.getLogger(__name__)

AHEAD_BYTES = 64 << 20
"""No more than this is asked of the kernel's read-ahead for one object."""


class _Abandoned(Exception):
    """Nobody waits for this object any more."""


class _Buffer(threading.local):
    """A header and a slice for each thread, aligned to pages (O_DIRECT)."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, format.HEADER + format.SLICE)
        self.view = memoryview(self.memory)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))


class Parts(NamedTuple):
    """What the reader shares with the rest of the tier."""

    settings: Settings
    tree: Tree
    watch: Watch
    metrics: Metrics
    breaker: Breaker
    present: Known
    unreadable: Known
    recompute: Recompute


class Flight:
    """One object under way, for all who want it. ``slots``: who came before it was read; ``late``: since then."""

    __slots__ = ("_reader", "ahead", "late", "ref", "slots", "started")

    def __init__(self, reader: Reader, slot: Slot) -> None:
        self._reader, self.ref = reader, slot.ref
        self.slots, self.late = [slot], list[Slot]()
        self.started = False
        self.ahead = False

    def run(self) -> None:
        """In a thread of the pool."""
        self._reader.fly(self)

    def abandoned(self) -> bool:
        """Whether nobody waits."""
        return not any(slot.open for slot in self.slots) and not any(slot.open for slot in self.late)


class Reader:
    """The loads of one tier."""

    def __init__(self, parts: Parts) -> None:
        self._settings, self._tree, self._watch, self._metrics = parts[:4]
        self._breaker, self._present, self._unreadable = parts.breaker, parts.present, parts.unreadable
        self._recompute = parts.recompute
        self.pool = Pool("load", parts.settings.load_threads)
        self.progress = 0.0
        """Monotonic time at which any thread last got bytes."""
        self.last_good: Ref | None = None
        """An object that was just read, for the probe."""
        self._nowait = not parts.settings.direct_io and hasattr(os, "RWF_NOWAIT")
        """Until the filesystem says that it cannot."""
        self._under_way = (0, 0)
        """Bytes and chunks that loads wait for."""
        self._count = threading.Lock()
        self._flights: dict[str, Flight] = {}
        self._lock = threading.Lock()
        self._buffer = _Buffer()
        self._hits = self._metrics.hits.labels(LOAD)
        self._bytes = self._metrics.bytes.labels(LOAD)
        self._seconds = self._metrics.seconds.labels(LOAD)

    def load(self, items: Sequence[tuple[Ref, memoryview]], chunks: int, done: Callable[[Task], None]) -> None:
        """Fill the views; ``done`` gets the task, whose slots tell the causes, once. Never blocks in the filesystem.

        ``chunks``: how many chunks of tokens the objects are, for what computing them would cost.
        """

        size = sum(ref.length for ref, _ in items)

        def finish(task: Task) -> None:
            self._counted(-size, -chunks)
            self._seconds.observe(time.monotonic() - task.started)
            for slot in task.slots:
                if slot.cause is None:
                    self._hits.inc()
                else:
                    self._metrics.misses.labels(LOAD, slot.cause).inc()
            done(task)

        settings = self._settings
        now = time.monotonic()
        # What came before is read first, and would be computed first, too.
        deadline = now + self.allowed(*self._counted(size, chunks))
        task = Task(
            items,
            deadline,
            finish,
            stall=settings.stall_ms / 1000,
            progress=lambda: self.progress,
            starving=self.pool.starving,
            gave_up=self._gave_up,
        )
        if self._breaker.is_open or self.pool.all_stuck():
            task.give_up(errors.BREAKER if self._breaker.is_open else errors.STUCK)
            return
        self._watch.add(task)
        for slot in task.slots:
            self._board(slot)

    def _counted(self, size: int, chunks: int) -> tuple[int, int]:
        """Add to what is under way; the sums."""
        with self._count:
            self._under_way = (self._under_way[0] + size, self._under_way[1] + chunks)
            return self._under_way

    def allowed(self, size: int, chunks: int) -> float:
        """Seconds that loads of so much may take, all together."""
        settings = self._settings
        allowed = settings.load_base_ms + settings.load_ms_per_mib * size / (1 << 20)
        if cost := self._recompute.ms_per_chunk:
            allowed = min(allowed, max(settings.load_floor_ms, cost * chunks))
        return allowed / 1000

    def _gave_up(self, cause: str) -> None:
        if cause == errors.STALL or (cause == errors.DEADLINE and self._recompute.ms_per_chunk):
            # Nothing moves, or computing would have been as fast.
            self._breaker.trip(cause)
        elif cause == errors.DEADLINE:
            self._breaker.failed(cause)

    def _board(self, slot: Slot) -> None:
        """Let the slot join a flight for its object, or start one."""
        if slot.ref.name in self._unreadable:
            slot.finish(errors.KNOWN_UNREADABLE)
            return
        with self._lock:
            flight = self._flights.get(slot.ref.name)
            if flight is not None and flight.ref == slot.ref:
                if flight.started and flight.abandoned():
                    stuck = True
                else:
                    (flight.late if flight.started else flight.slots).append(slot)
                    self._metrics.shared.inc()
                    return
            else:
                stuck = False
                flight = Flight(self, slot)
                self._flights[slot.ref.name] = flight
        if stuck:
            slot.finish(errors.STUCK)
        else:
            self.pool.submit(flight)

    def fly(self, flight: Flight) -> None:
        """Read one object for all who wait. In a thread of the pool."""
        with self._lock:
            if flight.abandoned():
                # Under the lock, so that nobody joins what will not fly.
                self._forget(flight)
                return
            flight.started = True
        self._read_ahead()
        cause: str | None = None
        left = False
        try:
            self._fetch(flight)
            self._breaker.ok()
            self._bytes.inc(flight.ref.length)
            self.last_good = flight.ref
            self._present.add(flight.ref.name)
        except _Abandoned:
            left = True
        except format.FormatError as err:
            cause = err.cause
        except OSError as err:
            cause = self._failed(flight.ref.name, err)
        except Exception:
            logger.exception("L2 load of %s", flight.ref.name)
            cause = errors.INTERNAL
        if cause is not None:
            self._present.forget(flight.ref.name)
        self._land(flight, cause, left)

    def _failed(self, name: str, err: OSError) -> str:
        cause = errors.label(err)
        if err.errno in errors.GONE:
            self._breaker.trip(cause)
        elif cause != "ENOENT":
            if err.errno in errors.UNREADABLE:
                self._unreadable.add(name)
            self._breaker.failed(cause)
        else:
            self._breaker.ok()
        return cause

    def _forget(self, flight: Flight) -> None:
        if self._flights.get(flight.ref.name) is flight:
            del self._flights[flight.ref.name]

    def _land(self, flight: Flight, cause: str | None, left: bool) -> None:
        """Tell everybody. Who came late gets a copy of what somebody else has, before that one is told.

        ``left``: those who came in time have all given up before the end; who came late needs a flight of their own.
        """
        with self._lock:
            self._forget(flight)
        again = []
        for slot in flight.late:
            if left or (cause is None and not self._copy(flight.slots, slot)):
                again.append(slot)
            else:
                slot.finish(cause)
        for slot in flight.slots:
            slot.finish(cause)
        for slot in again:
            if slot.open:
                self._board(slot)

    def _copy(self, sources: Sequence[Slot], target: Slot) -> bool:
        """Copy from a slot that has all of the object into one that came late. False if no source was left."""
        for source in sources:
            at = 0
            while at < source.ref.length:
                n = min(format.SLICE, source.ref.length - at)
                with source.gate:
                    if not source.open:
                        break
                    with target.gate:
                        if not target.open:
                            return True
                        ctypes.memmove(target.address + at, source.address + at, n)
                at += n
            else:
                return True
        return False

    def _fetch(self, flight: Flight) -> None:
        """Read and verify; raises FormatError, OSError or _Abandoned."""
        try:
            self._fetch_once(flight)
        except OSError as err:
            if errors.label(err) != "ESTALE":
                raise
            self._fetch_once(flight)  # On NFS, a rename over the file takes it away from those who have it open.

    def _fetch_once(self, flight: Flight) -> None:
        ref = flight.ref
        try:
            fd = self._tree.open(ref.name)
        except OSError as err:
            if err.errno == errors.LINK:
                self._wrong(ref.name, None, "kind")
                raise format.FormatError("kind", "a link or a socket") from None
            raise
        inode = None
        try:
            found = os.fstat(fd)
            inode = found.st_ino
            if not stat.S_ISREG(found.st_mode):
                raise format.FormatError("kind", "no regular file")
            if found.st_size != format.HEADER + ref.length:
                raise format.FormatError("length", f"{found.st_size} bytes")
            self._verify(fd, flight)
        except format.FormatError as err:
            self._wrong(ref.name, inode, err.cause)
            raise
        finally:
            os.close(fd)

    def _verify(self, fd: int, flight: Flight) -> None:
        ref, view = flight.ref, self._buffer.view
        length, at = ref.length, 0
        digests = []
        header: format.Header | None = None
        while at < length:
            n = min(format.SLICE, length - at)
            digest = self._at_once(fd, flight.slots, at, n, header is None) if self._nowait else None
            if digest is None:
                digest = self._through_buffer(fd, flight.slots, at, n, header is None)
            if header is None:
                header = format.decode_header(view[: format.HEADER])
                format.check(header, format.Expected(ref.name, ref.salt, ref.layout, length), format.HEADER + length)
            self.progress = time.monotonic()
            digests.append(digest)
            at += n
        if header is None or format.fold(digests) != header.payload_checksum:
            raise format.FormatError("checksum", "the payload's checksum differs")

    def _at_once(self, fd: int, slots: Sequence[Slot], at: int, n: int, first: bool) -> int | None:
        """Read a slice from the page cache into the caller's memory; its digest, or None if it is not to be had this way."""
        wanting = [slot for slot in slots if slot.open]
        if len(wanting) != 1:
            return None
        slot = wanting[0]
        header = [self._buffer.view[: format.HEADER]] if first else []
        start = 0 if first else format.HEADER + at
        with slot.gate:
            if not slot.open:
                return None
            into = slot.view[at : at + n]
            try:
                count = os.preadv(fd, [*header, into], start, os.RWF_NOWAIT)
            except OSError as err:
                if err.errno in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                    self._nowait = False
                return None  # Whatever it is, the ordinary way finds out.
            return format.slice_digest(into) if count == n + len(header) * format.HEADER else None

    def _through_buffer(self, fd: int, slots: Sequence[Slot], at: int, n: int, first: bool) -> int:
        """Read a slice into this thread's buffer, and copy it to all who want it; its digest. Raises _Abandoned."""
        view = self._buffer.view
        if first:
            self._read(fd, view, format.HEADER + n, 0)
        else:
            self._read(fd, view[format.HEADER :], n, format.HEADER + at)
        digest = format.slice_digest(view[format.HEADER : format.HEADER + n])
        wanted = False
        for slot in slots:
            with slot.gate:
                if slot.open:
                    wanted = True
                    ctypes.memmove(slot.address + at, self._buffer.address + format.HEADER, n)
        if not wanted:
            raise _Abandoned
        return digest

    def _read(self, fd: int, view: memoryview, n: int, at: int) -> None:
        """Fill ``view[:n]`` from ``at``. O_DIRECT wants whole blocks; what lies behind the end of the file is not read."""
        got = 0
        want = n if not self._settings.direct_io else -(-n // format.HEADER) * format.HEADER
        while got < n:
            count = os.preadv(fd, [view[got:want]], at + got)
            if count == 0:
                raise format.FormatError("length", "the file ends early")
            got += count

    def _wrong(self, name: str, inode: int | None, cause: str) -> None:
        """The object's bytes are not what they should be: out of the way, so that the next store repairs it."""
        logger.warning("L2 object %s is wrong (%s): set aside", name, cause)
        try:
            if self._tree.set_aside(name, inode):
                self._metrics.set_aside.labels(cause).inc()
        except OSError:
            # It cannot be removed; do not read it again and again.
            self._unreadable.add(name)

    def _read_ahead(self) -> None:
        """While this thread reads, let the kernel fetch what a thread will take next."""
        if not self._settings.read_ahead or self._settings.direct_io:
            return
        job = self.pool.upcoming(self.pool.size // 2)
        if not isinstance(job, Flight) or job.ahead:
            return
        job.ahead = True
        with contextlib.suppress(OSError):
            fd = self._tree.open(job.ref.name)
            try:
                os.posix_fadvise(fd, 0, min(job.ref.length + format.HEADER, AHEAD_BYTES), os.POSIX_FADV_WILLNEED)
            finally:
                os.close(fd)
