"""Progress of long work: which phase, how long, what it is doing now; and the times of all phases at the end."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

_started = time.monotonic()
_times: list[tuple[str, float]] = []
_lock = threading.Lock()
_HEARTBEAT_S = 20.0


def say(text: str) -> None:
    """Print one line with the time since the start, at once (also from worker threads)."""
    elapsed = int(time.monotonic() - _started)
    with _lock:
        sys.stdout.write(f"[{elapsed // 60:02d}:{elapsed % 60:02d}] {text}\n")
        sys.stdout.flush()


@contextlib.contextmanager
def every(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Call `action` beside the block, once every `seconds`, until the block ends."""
    done = threading.Event()

    def loop() -> None:
        while not done.wait(seconds):
            action()

    threading.Thread(target=loop, daemon=True).start()
    try:
        yield
    finally:
        done.set()


@contextlib.contextmanager
def phase(name: str, why: str = "") -> Iterator[None]:
    """Announce a phase, say every 20 s that it is still running, and keep its duration for `table()`."""
    begin = time.monotonic()
    say(f"{name}" + (f": {why}" if why else ""))
    try:
        with every(_HEARTBEAT_S, lambda: say(f"  {name} … {time.monotonic() - begin:.0f} s")):
            yield
    finally:
        took = time.monotonic() - begin
        with _lock:
            _times.append((name, took))
    say(f"  {name}: done in {took:.1f} s")


def table(at_least_s: float = 1.0) -> str:
    """The phases that took `at_least_s` seconds or more, in the order in which they ended."""
    rows = [f"  {took:7.1f} s  {name}" for name, took in _times if took >= at_least_s]
    return "\n".join([f"phases ({time.monotonic() - _started:.0f} s in all; some run side by side):", *rows])
