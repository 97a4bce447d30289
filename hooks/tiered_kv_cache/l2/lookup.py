"""Lookups: one stat for each object, several at once, or none for what was seen a moment ago."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from . import errors, format
from .metrics import LOOKUP
from .pool import Pool
from .reader import Parts
from .task import TICK, Excuse, Ref

KEYS_A_JOB = 16
"""Fewer than this many objects are not worth a second thread."""


class LookupTask:
    """Which of ``refs`` are there. ``done`` gets it once; ``found`` has one byte an object, 1 for a hit."""

    def __init__(
        self,
        refs: Sequence[Ref],
        deadline: float,
        done: Callable[[LookupTask], None],
        starving: Callable[[], bool],
    ) -> None:
        self._starving = starving
        self.started = time.monotonic()
        self.refs, self.deadline, self._done = refs, deadline, done
        self.found = bytearray(len(refs))
        self.causes: dict[int, str] = {}
        self.cause: str | None = None
        """Why the rest was not looked at, where it was not."""
        self.is_done = False
        self.open = 0
        """Jobs that run or wait."""
        self._excuse = Excuse(deadline - self.started)
        self._lock = threading.Lock()

    def overdue(self, now: float) -> str | None:
        """The deadline alone counts: a lookup is short."""
        if now - self._excuse.seconds < self.deadline or (self._starving() and self._excuse.add(TICK)):
            return None
        return errors.DEADLINE

    def excuse(self, seconds: float) -> None:
        """See Overdue."""
        self._excuse.add(seconds)

    def give_up(self, cause: str) -> None:
        """Answer with what is known; what no thread has looked at is a miss."""
        self._report(cause)

    def settle(self, found: dict[int, str | None]) -> None:
        """A job's answers: cause of the miss, or None for a hit, by position."""
        with self._lock:
            if self.is_done:
                return
            for at, cause in found.items():
                if cause is None:
                    self.found[at] = 1
                else:
                    self.causes[at] = cause
            self.open -= 1
            if self.open:
                return
        self._report(None)

    def _report(self, cause: str | None) -> None:
        with self._lock:
            if self.is_done:
                return
            self.is_done = True
            self.cause = cause
        self._done(self)


class _Job:
    """Some objects of a lookup."""

    def __init__(self, lookup: Lookup, task: LookupTask, at: Sequence[int]) -> None:
        self._lookup, self._task, self._at = lookup, task, at

    def run(self) -> None:
        """In a thread of the pool."""
        self._lookup.look(self._task, self._at)

    def abandoned(self) -> bool:
        """Whether the task was answered without it."""
        return self._task.is_done


class Lookup:
    """The lookups of one tier. ``moving``: monotonic time at which any load or store last got on."""

    def __init__(self, parts: Parts, moving: Callable[[], float]) -> None:
        self._moving = moving
        self._answered = 0.0
        """Monotonic time at which the filesystem last answered a lookup."""
        self._settings, self._tree, self._watch, self._metrics = parts[:4]
        self._breaker, self._present, self._unreadable = parts.breaker, parts.present, parts.unreadable
        self.pool = Pool("lookup", parts.settings.lookup_threads)
        self._hits = self._metrics.hits.labels(LOOKUP)
        self._seconds = self._metrics.seconds.labels(LOOKUP)

    def submit(self, refs: Sequence[Ref], done: Callable[[LookupTask], None]) -> None:
        """Look ``refs`` up. Never blocks in the filesystem; ``done`` may be called before this returns."""

        def finish(task: LookupTask) -> None:
            if task.cause == errors.DEADLINE:
                self._late(task.cause)
            done(task)  # First: the rest is not the request's business.
            self._seconds.observe(time.monotonic() - task.started)
            hits = sum(task.found)
            self._hits.inc(hits)
            unseen = len(task.refs) - hits - len(task.causes)
            if unseen:
                self._metrics.misses.labels(LOOKUP, task.cause or errors.INTERNAL).inc(unseen)
            for cause in set(task.causes.values()):
                self._metrics.misses.labels(LOOKUP, cause).inc(sum(1 for c in task.causes.values() if c == cause))

        deadline = time.monotonic() + self._settings.lookup_deadline_ms / 1000
        task = LookupTask(refs, deadline, finish, self.pool.starving)
        if self._breaker.is_open:
            task.give_up(errors.BREAKER)
            return
        ask = []
        for at, known in enumerate(self._present.known([ref.name for ref in refs])):
            if known:
                task.found[at] = 1
            else:
                ask.append(at)
        if not ask:
            task.open = 1
            task.settle({})
            return
        if self.pool.all_stuck():
            task.give_up(errors.STUCK)
            return
        size = max(KEYS_A_JOB, -(-len(ask) // self.pool.size))
        jobs = [_Job(self, task, ask[at : at + size]) for at in range(0, len(ask), size)]
        task.open = len(jobs)
        self._watch.add(task)
        for job in jobs:
            self.pool.submit(job)

    def _late(self, cause: str) -> None:
        """A lookup was given up. Where other things move, it may have been this machine that had no time for it."""
        still = time.monotonic() - max(self._answered, self._moving())
        if still >= self._settings.lookup_deadline_ms / 1000:
            self._breaker.trip(cause)
        else:
            self._breaker.failed(cause)

    def look(self, task: LookupTask, positions: Sequence[int]) -> None:
        """Stat some objects. In a thread of the pool."""
        answers: dict[int, str | None] = {}
        unreadable = self._unreadable.known([task.refs[at].name for at in positions])
        for at, known in zip(positions, unreadable, strict=True):
            if task.is_done:
                return
            answers[at] = errors.KNOWN_UNREADABLE if known else self._one(task.refs[at])
        task.settle(answers)
        self._present.add(*[task.refs[at].name for at, cause in answers.items() if cause is None])
        self._breaker.ok()

    def _one(self, ref: Ref) -> str | None:
        """None if the object is there, else why it counts as absent."""
        try:
            length = self._tree.length(ref.name)
        except OSError as err:
            cause = errors.label(err)
            if err.errno in errors.GONE:
                self._breaker.trip(cause)
            else:
                self._breaker.failed(cause)
            return cause
        except Exception:
            return errors.INTERNAL
        self._answered = time.monotonic()
        if length == 0:
            return "ENOENT"
        # The wrong size is "absent" here and for stores, so that the next one repairs it. Where nothing of this kind was
        # stored or loaded yet, its size is not known, and the load will see.
        if length <= format.HEADER or (ref.length and length != format.HEADER + ref.length):
            return "length"
        return None
