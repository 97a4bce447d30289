"""Threads that may hang in the filesystem: a fixed number of them, and nobody waits for one."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Protocol

logger = logging.getLogger(__name__)


class Job(Protocol):
    """Work for one thread."""

    def run(self) -> None:
        """Do it, or see that it is abandoned; may block for ever."""

    def abandoned(self) -> bool:
        """Whether nobody waits for it any more. Must not block."""


class Pool:
    """``size`` daemon threads, started with the first job. A thread whose job is abandoned but still runs is stuck."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self._jobs: deque[Job] = deque()
        self._ready = threading.Condition()
        self._current: list[Job | None] = [None] * size
        self._native = [0] * size
        self._started = 0
        self._idle = 0
        self._closed = False

    def submit(self, job: Job) -> None:
        """Queue ``job``. Ask all_stuck first."""
        with self._ready:
            if self._closed:
                return
            self._jobs.append(job)
            if self._idle:
                self._ready.notify()
            elif self._started < self.size:
                number = self._started
                self._started += 1
                threading.Thread(
                    target=self._work, args=(number,), name=f"l2-{self.name}-{number}", daemon=True
                ).start()

    def stuck(self) -> int:
        """Threads that still run a job for which nobody waits."""
        return sum(1 for job in list(self._current) if job is not None and job.abandoned())

    def all_stuck(self) -> bool:
        """Whether a new job would find no thread."""
        return self.stuck() == self.size

    def starving(self) -> bool:
        """Whether a thread with a job waits for a processor, or for Python's lock: not the filesystem's fault."""
        return any(job is not None and _starves(self._native[n]) for n, job in enumerate(list(self._current)))

    @property
    def waiting(self) -> int:
        """Jobs that no thread has taken yet."""
        return len(self._jobs)

    @property
    def busy(self) -> bool:
        """Whether any job waits or runs."""
        return bool(self._jobs) or self._idle < self._started

    def upcoming(self, after: int) -> Job | None:
        """The waiting job ``after`` places from the front, if there is one."""
        with self._ready:
            return self._jobs[after] if after < len(self._jobs) else None

    def close(self) -> None:
        """Take no more jobs; threads end after the one that they run."""
        with self._ready:
            self._closed = True
            self._jobs.clear()
            self._ready.notify_all()

    def _work(self, number: int) -> None:
        self._native[number] = threading.get_native_id()
        while True:
            with self._ready:
                self._idle += 1
                while not self._jobs and not self._closed:
                    self._ready.wait()
                self._idle -= 1
                if self._closed:
                    return
                job = self._jobs.popleft()
                self._current[number] = job
            try:
                job.run()
            except Exception:
                # A job answers for itself; what comes here is a fault of ours, and the thread must live on.
                logger.exception("L2 %s thread", self.name)
            finally:
                self._current[number] = None


def _starves(thread: int) -> bool:
    """Ready to run, by /proc, or asleep in a futex; a thread that waits for a filesystem sleeps elsewhere in the kernel."""
    try:
        with open(f"/proc/self/task/{thread}/stat", "rb") as file:
            # "<id> (<name>) <state> ...", where a name may hold anything.
            if file.read().rpartition(b") ")[2][:1] == b"R":
                return True
        with open(f"/proc/self/task/{thread}/wchan", "rb") as file:
            return file.read().startswith(b"futex")
    except OSError:
        return False
