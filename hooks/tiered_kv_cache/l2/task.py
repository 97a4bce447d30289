"""A request to the tier, its deadline, and the gate before the caller's memory.

LMCache takes a buffer back as soon as a task is reported done. A thread that hangs in the filesystem may come back at any
later time; so a thread touches a buffer only while it holds the slot's gate and has seen the slot open, and a slot is closed,
under the same gate, before its task is reported. Threads never hold a gate across a call that may wait for the filesystem.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from . import errors

logger = logging.getLogger(__name__)

TICK = 0.02
"""Seconds between two looks at the deadlines, while there are any."""


class Ref(NamedTuple):
    """An object: name and salt as of the format, layout fingerprint, bytes of payload (0: not known, for lookups)."""

    name: str
    salt: str
    layout: int
    length: int


class Slot:
    """One object of a task. ``cause``: None while open or when it succeeded. ``written``: whether a store wrote it."""

    __slots__ = ("address", "cause", "gate", "open", "ref", "task", "view", "written")

    def __init__(self, task: Task, ref: Ref, view: memoryview) -> None:
        self.task, self.ref, self.view = task, ref, view
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        self.gate = threading.Lock()
        self.open = True
        self.cause: str | None = None
        self.written = False

    def finish(self, cause: str | None) -> bool:
        """Close the slot; False if it was closed before. From now on no thread touches its memory."""
        with self.gate:
            if not self.open:
                return False
            self.open = False
            self.cause = cause
        self.task.finished()
        return True


class Task:
    """Objects that are asked for together. ``done`` is called once, from any thread, when all slots are closed.

    ``deadline``: monotonic seconds. ``progress``: when anything was last achieved for requests of this kind, ours or not.
    ``starving``: whether a thread that works on them waits for a processor.
    """

    def __init__(
        self,
        items: Sequence[tuple[Ref, memoryview]],
        deadline: float,
        done: Callable[[Task], None],
        *,
        stall: float | None = None,
        progress: Callable[[], float] = lambda: 0.0,
        starving: Callable[[], bool] = lambda: False,
        gave_up: Callable[[str], None] = lambda cause: None,
    ) -> None:
        self.started = time.monotonic()
        self.deadline, self._done, self._stall, self._progress, self._gave_up = deadline, done, stall, progress, gave_up
        self._excuse = Excuse(deadline - self.started)
        self._starving = starving
        self._lock = threading.Lock()
        self._open = len(items)
        self.slots = [Slot(self, ref, view) for ref, view in items]

    @property
    def is_done(self) -> bool:
        """Whether it was reported."""
        return self._open == 0

    def finished(self) -> None:
        """One more slot is closed."""
        with self._lock:
            self._open -= 1
            last = self._open == 0
        if last:
            self._done(self)

    def overdue(self, now: float) -> str | None:
        """Why to give it up, if it is to be."""
        now -= self._excuse.seconds
        cause = None
        if now >= self.deadline:
            cause = errors.DEADLINE
        elif self._stall is not None and now - max(self.started, self._progress()) >= self._stall:
            cause = errors.STALL
        if cause is not None and self._starving() and self._excuse.add(TICK):
            return None
        return cause

    def excuse(self, seconds: float) -> None:
        """See Overdue."""
        self._excuse.add(seconds)

    def give_up(self, cause: str) -> None:
        """Close what is open."""
        if sum([slot.finish(cause) for slot in self.slots]):
            self._gave_up(cause)


class Overdue(Protocol):
    """What Watch looks after."""

    @property
    def is_done(self) -> bool:
        """Whether it was reported."""

    def overdue(self, now: float) -> str | None:
        """Why to give it up, if it is to be."""

    def excuse(self, seconds: float) -> None:
        """This process got no processor for so long: not the filesystem's fault."""

    def give_up(self, cause: str) -> None:
        """Report it with what there is."""


class Excuse:
    """Time that does not count against a deadline; as much as the deadline itself at most, since requests do wait."""

    __slots__ = ("_left", "seconds")

    def __init__(self, most: float) -> None:
        self._left = most
        self.seconds = 0.0

    def add(self, seconds: float) -> bool:
        """``seconds`` more; False if there is no more to be had."""
        if self._left <= 0:
            return False
        seconds = min(seconds, self._left)
        self._left -= seconds
        self.seconds += seconds
        return True


class Watch:
    """One thread that gives tasks up at their deadline. It never calls into the filesystem."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._tasks: set[Overdue] = set()
        self._wake = threading.Condition()
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, task: Overdue) -> None:
        """Look after ``task`` until it is done."""
        with self._wake:
            closed = self._closed
            if not closed and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="l2-deadlines", daemon=True)
                self._thread.start()
            if not closed:
                self._tasks.add(task)
                if len(self._tasks) == 1:
                    self._wake.notify()
        if closed:
            task.give_up(errors.CLOSED)

    def close(self) -> None:
        """Give everything up and end."""
        with self._wake:
            self._closed = True
            tasks = list(self._tasks)
            self._wake.notify()
        for task in tasks:
            task.give_up(errors.CLOSED)

    def _run(self) -> None:
        while True:
            with self._wake:
                self._tasks = {task for task in self._tasks if not task.is_done}
                if self._closed:
                    return
                slept = self._clock() if self._tasks else None
                self._wake.wait(TICK if self._tasks else None)
                tasks = list(self._tasks)
            now = self._clock()
            late = now - slept - TICK if slept is not None else 0.0
            for task in tasks:
                if late > TICK:
                    task.excuse(late)
                cause = None if task.is_done else task.overdue(now)
                if cause is not None:
                    try:
                        task.give_up(cause)
                    except Exception:
                        logger.exception("L2 deadline")
