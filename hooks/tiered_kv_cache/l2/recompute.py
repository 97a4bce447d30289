"""What computing a chunk costs the engine, learnt from its own requests: a load that takes longer is worth nothing."""

from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SAMPLES = 32
LEAST_SAMPLES = 8
"""Fewer say nothing: the first requests compile and warm up."""
CHUNKS = 16_384
"""Missed chunks that are remembered until they are stored."""


@dataclass(slots=True)
class _Row:
    """The missed chunks of one lookup. ``begun``: when it was answered; ``stored``: how many have come since."""

    begun: float
    stored: int = 0


class Recompute:
    """Milliseconds a chunk. Between a lookup's miss and the store of the same chunk the engine computed it.

    Waiting and other requests are part of that time, as they would be of the next one's. The median bears what lies in vLLM's
    own cache only, which is stored without being computed.
    """

    def __init__(self, given: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        """``given``: a person's figure, which is not learnt any more."""
        self._given, self._clock = given, clock
        self._missed: dict[str, _Row] = {}
        self._samples: deque[float] = deque(maxlen=SAMPLES)
        self._learnt = 0.0
        self._lock = threading.Lock()

    @property
    def ms_per_chunk(self) -> float:
        """0: not known yet."""
        return self._given or self._learnt

    def missed(self, names: Sequence[str]) -> None:
        """The objects of one row that a lookup did not find, from the first one on."""
        if self._given or not names:
            return
        row = _Row(self._clock())
        with self._lock:
            for name in names:
                self._missed.pop(name, None)  # To the end: the order is that of age.
                self._missed[name] = row
            while len(self._missed) > CHUNKS:
                del self._missed[next(iter(self._missed))]

    def stored(self, names: Sequence[str]) -> None:
        """The engine gives these objects to be stored: it has computed them."""
        if self._given or not self._missed:
            return
        now = self._clock()
        with self._lock:
            rows: dict[int, _Row] = {}
            for name in names:
                row = self._missed.pop(name, None)
                if row is not None:
                    row.stored += 1
                    rows[id(row)] = row
            for row in rows.values():
                self._samples.append((now - row.begun) * 1000 / row.stored)
            if rows and len(self._samples) >= LEAST_SAMPLES:
                self._learnt = statistics.median(self._samples)
