"""Use logs: what tenants wrote, so every byte is bounded and checked before it means anything.

A log can only name objects of the fingerprint that it lies in, since it holds names, not paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import layout

MOST_BYTES = 8 << 20
"""Of one log; the rest is not read."""
MOST_LINE = 1 << 20
SKEW_SECONDS = 600
"""A writer's clock that is off by more than this is not believed."""
KINDS = (b"use", b"put")


@dataclass(frozen=True)
class Entry:
    """One line: seconds since the epoch, and the ids of the objects and their keys, in the order of their prefix."""

    when: int
    stored: bool
    keys: tuple[str, ...]


@dataclass
class Parsed:
    """A log. ``bad``: lines that are none. ``skewed``: its writer's clock was not believed."""

    entries: list[Entry]
    bad: int = 0
    skewed: bool = False


def parse(data: bytes, written: int, now: int) -> Parsed:
    """Read a log. ``written``: its file's time; ``now``: the filesystem's, both in seconds.

    Times are the writer's. Where its last one is far from the file's time, all are moved by the difference; none is later
    than now.
    """
    found = Parsed([])
    last = 0
    # The last line may be under way.
    for line in data[:MOST_BYTES].split(b"\n")[:-1]:
        entry = _entry(line)
        if entry is None:
            found.bad += 1
        else:
            found.entries.append(entry)
            last = max(last, entry.when)
    if found.entries and abs(last - written) > SKEW_SECONDS:
        found.skewed = True
        moved = written - last
        found.entries = [Entry(e.when + moved, e.stored, e.keys) for e in found.entries]
    found.entries = [Entry(max(1, min(e.when, now)), e.stored, e.keys) for e in found.entries]
    return found


def pairs(ids: list[int]) -> Iterator[tuple[int, int]]:
    """(before, after) of neighbours."""
    return zip(ids[:-1], ids[1:], strict=True)


def _entry(line: bytes) -> Entry | None:
    words = line.split() if len(line) <= MOST_LINE else []
    if len(words) < 3 or words[1] not in KINDS:
        return None
    try:
        when = float(words[0])
        keys = tuple(w.decode("ascii") for w in words[2:])
    except ValueError:
        return None
    # A number of some hundred digits is infinite, and "nan" is a number too.
    if not 0 <= when < 2**40 or not all(layout.KEY.fullmatch(k) for k in keys):
        return None
    return Entry(int(when), words[1] == b"put", keys)
