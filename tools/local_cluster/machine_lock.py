"""One run at a time: a cluster, its caches and its ports belong to the cache folder, not to a clone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from .problem import Problem
from .settings import PLACES, REPO


@contextlib.contextmanager
def machine_lock(purpose: str) -> Iterator[None]:
    """Hold the cache folder's lock. The kernel drops it when the holder dies, however it dies.

    Raises:
        Problem: another run holds it; says which clone, what for and since when.
    """
    PLACES.cache.mkdir(parents=True, exist_ok=True)
    with PLACES.lock.open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            handle.seek(0)
            raise Problem(
                f"another run holds the local cluster: {handle.read().strip() or 'unknown'}",
                "wait for it to end, then run this again; nothing was changed",
            ) from error
        handle.seek(0)
        handle.truncate()
        handle.write(f"`{purpose}` in {REPO}, pid {os.getpid()}, since {time.strftime('%H:%M:%S')}")
        handle.flush()
        # Children must not inherit it: a forwarder that outlives this run would keep the lock.
        os.set_inheritable(handle.fileno(), False)
        yield


def holder() -> str:
    """Who holds the lock now, for people; empty when nobody does."""
    if not PLACES.lock.exists():
        return ""
    with PLACES.lock.open() as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return handle.read().strip() or "unknown"
    return ""
