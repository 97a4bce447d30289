"""Which objects were used, and what precedes what: written as small logs, off the request's path (docs/l2-format.md).

A lookup names all chunks of a prompt in order, those that lie in L1 too; so a head chunk that L1 always serves is still marked
as used in L2. A store names chunks without saying where a chain begins; what precedes them was learnt from the lookup.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from . import errors, format
from .metrics import Metrics

logger = logging.getLogger(__name__)


class UseLog:
    """Collects one interval's uses. ``limit``: objects in it; ``learnt``: how many predecessors are remembered."""

    def __init__(
        self, metrics: Metrics, limit: int, learnt: int = 32_768, clock: Callable[[], float] = time.time
    ) -> None:
        self._metrics, self._limit, self._learnt, self._clock = metrics, limit, learnt, clock
        self._before: dict[str, str] = {}
        self._entries: dict[str, dict[str, str | None]] = {format.PUT: {}, format.USE: {}}
        self._since = 0
        self._stored = 0
        self._lock = threading.Lock()

    def learn(self, chain: Sequence[str]) -> None:
        """These objects follow each other, whether they are there or not."""
        with self._lock:
            for before, name in itertools.pairwise(chain):
                self._before[name] = before
            while len(self._before) > self._learnt:
                del self._before[next(iter(self._before))]

    def used(self, chain: Sequence[str]) -> None:
        """These objects were found, in order."""
        self._add(format.USE, ((name, chain[at - 1] if at else None) for at, name in enumerate(chain)))

    def put(self, names: Sequence[str], size: int = 0) -> int:
        """These objects, ``size`` bytes, were stored; bytes stored in this interval. The one before counts as predecessor
        only where none is known.
        """
        with self._lock:
            self._stored += size
            stored = self._stored
            pairs = [(n, self._before.get(n, names[at - 1] if at else None)) for at, n in enumerate(names)]
        self._add(format.PUT, pairs)
        return stored

    def _add(self, kind: str, pairs: Iterable[tuple[str, str | None]]) -> None:
        lost = 0
        with self._lock:
            if not self._since:
                self._since = int(self._clock())
            entries = self._entries[kind]
            for name, before in pairs:
                if name in entries:
                    if before is not None:
                        entries[name] = before
                elif sum(map(len, self._entries.values())) >= self._limit:
                    lost += 1
                else:
                    entries[name] = before
        if lost:
            self._metrics.use_lost.labels(errors.QUEUE_FULL).inc(lost)

    def take(self) -> tuple[bytes, int]:
        """The interval's log, empty if nothing happened, and how many objects it has; begins a new one."""
        with self._lock:
            entries, since = self._entries, self._since
            self._entries = {format.PUT: {}, format.USE: {}}
            self._since = self._stored = 0
        text = [format.format_lines(since, kind, chain) for kind, found in entries.items() for chain in chains(found)]
        return "".join(text).encode(), sum(map(len, entries.values()))

    def flush(self, write: Callable[[bytes], None]) -> None:
        """Write the interval's log; what cannot be written is counted and forgotten."""
        data, count = self.take()
        if not data:
            return
        try:
            write(data)
        except OSError as err:
            self._metrics.use_lost.labels(errors.label(err)).inc(count)
            logger.info("L2 use log: %s", err)


def chains(before: dict[str, str | None]) -> list[list[str]]:
    """Chains that together have each name once, and each link: a branch begins with the name that it branches from."""
    followed = {name for name in before.values() if name is not None}
    done: set[str] = set()
    result = []
    for leaf in [name for name in before if name not in followed] + list(before):
        if leaf in done:
            continue
        chain: list[str] = []
        at: str | None = leaf
        while at is not None and at not in done and at in before:
            done.add(at)
            chain.append(at)
            at = before[at]
        if at is not None:
            chain.append(at)  # Named by an earlier chain, or not of this interval: says only what the next one follows.
        result.append(chain[::-1])
    return result
