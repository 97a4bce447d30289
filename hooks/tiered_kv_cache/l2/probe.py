"""Asks the filesystem, in the background, whether it can be used again; one thread a breaker, so one hung call each."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from . import errors, format, paths
from .breaker import Breaker
from .reader import Parts
from .task import Ref
from .tree import Tree, write_all

logger = logging.getLogger(__name__)

RETRIED = 3
"""Objects that gave EIO, of which a probe reads a piece."""
PROBE_BYTES = 1 << 20
"""What a probe of stores writes."""


class Prober:
    """Closes ``breaker`` as soon as ``check`` returns without an OSError."""

    def __init__(self, breaker: Breaker, check: Callable[[], None]) -> None:
        self._breaker, self._check = breaker, check
        self._stop = threading.Event()
        threading.Thread(target=self._run, name=f"l2-probe-{breaker.name}", daemon=True).start()

    def close(self) -> None:
        """End after the probe that runs."""
        self._stop.set()
        self._breaker.opened.set()

    def _run(self) -> None:
        while True:
            self._breaker.opened.wait()
            if self._stop.wait(self._breaker.probe_interval):
                return
            try:
                self._check()
            except OSError as err:
                logger.info("L2 %s probe: %s", self._breaker.name, err)
            except Exception:
                logger.exception("L2 %s probe", self._breaker.name)
            else:
                logger.warning("L2 %s breaker closed: the filesystem answers again", self._breaker.name)
                self._breaker.close()


class ReadProbe:
    """Looks at the tree, and reads an object that could be read before, fast enough to be worth it.

    ``unreadable``: objects that gave EIO; forgotten as soon as those among them that are tried can be read again.
    """

    def __init__(self, parts: Parts, allowed: Callable[[int, int], float], last: Callable[[], Ref | None]) -> None:
        self._settings, self._tree, self._unreadable = parts.settings, parts.tree, parts.unreadable
        self._allowed, self._last = allowed, last
        self._skip: Ref | None = None

    def __call__(self) -> None:
        """Raises OSError while reads should not be tried."""
        self._look()
        names = self._unreadable.newest(RETRIED)
        # A lost worker's files are unreadable while all others can be read: those stay known.
        if names and all(self._readable(name) for name in names):
            self._unreadable.clear()

    def _readable(self, name: str) -> bool:
        try:
            fd = self._tree.open(name)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.preadv(fd, [bytearray(format.HEADER)], format.HEADER)
        except OSError:
            return False
        finally:
            os.close(fd)
        return True

    def _look(self) -> None:
        os.stat(self._tree.base)
        self._tree.length("00")
        ref = self._last()
        if ref is None or ref is self._skip:
            return
        started = time.monotonic()
        try:
            fd = self._tree.open(ref.name)
        except FileNotFoundError:
            return
        except OSError as err:
            # This one may be lost for good; the next probe goes without it.
            if err.errno in errors.UNREADABLE:
                self._skip = ref
            raise
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            at = 0
            while count := len(os.pread(fd, format.SLICE, at)):
                at += count
        except OSError as err:
            if err.errno in errors.UNREADABLE:
                self._skip = ref
            raise
        finally:
            os.close(fd)
        # Loads read as many at once as there are threads, so that each may take that much longer than computing its chunk.
        took, allowed = time.monotonic() - started, self._allowed(ref.length, self._settings.load_threads)
        if took > allowed:
            raise TimeoutError(f"one object took {took:.3f} s, {allowed:.3f} s are allowed")


class StoreProbe:
    """Writes, renames and removes a file as a store does."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def __call__(self) -> None:
        """Raises OSError while stores should not be tried."""
        path, fd = self._tree.create()
        other = path.removesuffix(paths.TMP_SUFFIX) + paths.BAD_SUFFIX
        try:
            try:
                if not self._tree.direct:
                    write_all(fd, bytes(PROBE_BYTES))
            finally:
                os.close(fd)
            os.rename(path, other)
        finally:
            self._tree.remove(path)
            self._tree.remove(other)
