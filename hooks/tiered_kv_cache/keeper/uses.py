"""Use logs: what tenants wrote, so every byte is bounded and checked before it means anything.

A log can only name objects of the fingerprint that it lies in, since it holds names, not paths.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..l2 import format as l2format

MOST_BYTES = 8 << 20
"""Of one log; the rest is not read."""
SKEW_SECONDS = 600
"""A writer's clock that is off by more than this is not believed."""


@dataclass(frozen=True)
class Entry:
    """One line: seconds since the epoch, and the names of objects in the order of their prefix."""

    when: int
    names: tuple[str, ...]


@dataclass
class Parsed:
    """A log. ``bad``: a line did not fit, and what follows it was not read. ``skewed``: its writer's clock was not believed."""

    entries: list[Entry] = field(default_factory=list)
    bad: bool = False
    skewed: bool = False


def parse(data: bytes, written: int, now: int) -> Parsed:
    """Read a log. ``written``: its file's time; ``now``: the filesystem's, both in seconds.

    Times are the writer's. Where its last one is far from the file's time, all are moved by the difference; none is later
    than now.
    """
    found = Parsed()
    lines = []
    for raw in data[:MOST_BYTES].split(b"\n")[:-1]:
        line = l2format.parse_line(raw.decode("ascii", "replace"))
        if line is None:
            found.bad = True
            break
        lines.append(line)
    written = min(written, now)
    last = max((line.time for line in lines), default=written)
    found.skewed = abs(last - written) > SKEW_SECONDS
    moved = written - last if found.skewed else 0
    found.entries = [Entry(max(1, min(line.time + moved, now)), line.names) for line in lines]
    return found
