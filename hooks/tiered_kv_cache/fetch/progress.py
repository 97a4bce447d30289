"""What is going on, as one line for the log: bytes, speed, time left; or whom this Pod waits for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

SPEED_SECONDS = 30.0


class Progress:
    """Shared by all threads of a fetch. ``say`` prints a line at once."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._lock = threading.Lock()
        self._total = self._done = 0
        self._received = 0
        self._recent: deque[tuple[float, int]] = deque()
        self._state = "looking for the model in the store"

    def note(self, text: str) -> None:
        """Print a line."""
        self._say(text)

    def state(self, text: str) -> None:
        """What goes on while nothing is downloaded."""
        with self._lock:
            self._state = text

    def begin(self, total: int, done: int) -> None:
        """A download of ``total`` bytes begins, of which ``done`` are here."""
        with self._lock:
            self._state, self._total, self._done = "", total, done
            self._recent.clear()

    def add(self, count: int) -> None:
        """Bytes came (or, negative, had to be thrown away)."""
        with self._lock:
            self._done += count
            self._received += max(0, count)

    @property
    def received(self) -> int:
        """Bytes that came in this process."""
        return self._received

    def beat(self) -> dict[str, Any]:
        """For the claim: so that waiting Pods can say how far it is."""
        return {"done": self._done, "total": self._total}

    def line(self) -> str:
        """The present state."""
        with self._lock:
            if self._state:
                return self._state
            now = self._clock()
            self._recent.append((now, self._received))
            while self._recent[0][0] < now - SPEED_SECONDS:
                self._recent.popleft()
            (then, before) = self._recent[0]
            speed = (self._received - before) / (now - then) if now > then else 0.0
            text = f"downloading: {share(self._done, self._total)}"
            if self._done >= self._total:
                return f"{text}, checking"
            if speed:
                return f"{text}, {human(speed)}/s, {duration((self._total - self._done) / speed)} left"
            return f"{text}, nothing came in the last {now - then:.0f} s" if now - then >= 10 else text


def waiting(said: dict[str, Any], lease: float) -> str:
    """The line of a Pod that waits for another one's download."""
    who = f"Pod {said['pod']}" if said.get("pod") else "another Pod"
    text = f"waiting: {who} downloads the model"
    if said.get("total"):
        text += f", {share(int(said.get('done') or 0), int(said['total']))}"
    silent = float(said.get("silent") or 0)
    if silent > lease / 2:
        text += f"; no sign of life for {silent:.0f} s, taken over after {lease:.0f} s"
    return text


def share(done: int, total: int) -> str:
    """'3.2 of 15.0 GiB (21 %)'."""
    return f"{human(done)} of {human(total)} ({done * 100 // total if total else 100} %)"


def human(count: float) -> str:
    """Bytes with a unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def duration(seconds: float) -> str:
    """Seconds for people."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
