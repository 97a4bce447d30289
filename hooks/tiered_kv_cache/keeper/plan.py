"""Which objects go first: least recently used, and of a chain its end.

The invariant of the table makes it simple: an object is never used earlier than one that follows it. So any cut by use takes
ends of chains only, and order matters just among equals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .table import Fingerprint

BUCKET = 64
"""Seconds of a first, coarse look at the uses: a week has some ten thousand of them."""
MOST_TIES = 50_000
"""Among so many objects of one second, chains are worked off one link a plan."""
_BITS = 23


@dataclass(frozen=True)
class Victim:
    """One object that is to go. ``charge``: bytes that count; ``use``: its last use when it was chosen."""

    found: Fingerprint
    ident: int
    use: int
    charge: int


def oldest(
    scope: Sequence[Fingerprint],
    charge: Callable[[int, int], int],
    latest: int,
    most: int,
    *,
    need_bytes: float = float("inf"),
    need_objects: float = float("inf"),
) -> list[Victim]:
    """Objects of ``scope`` in the order in which they go, until ``need_bytes`` and ``need_objects`` are reached.

    None that was used after ``latest`` (seconds), and at most ``most``. ``charge`` (size, blocks) gives bytes that count.
    """  # fmt: skip
    if most <= 0 or (need_bytes <= 0 and need_objects <= 0):
        return []
    limits = (need_bytes, need_objects, most)
    coarse = _cut(scope, charge, lambda use: use // BUCKET, lambda use: use <= latest, limits)
    if coarse is None:
        return []
    bucket, done = coarse
    left = (need_bytes - done[0], need_objects - done[1], most - done[1])
    low, high = bucket * BUCKET, min(latest, bucket * BUCKET + BUCKET - 1)
    fine = _cut(scope, charge, lambda use: use, lambda use: low <= use <= high, left)
    assert fine is not None
    last = fine[0]
    chosen = _rows(scope, charge, 0, last - 1)
    ties = _count(scope, last)
    room = most - len(chosen)
    chosen += _ends(scope, charge, last, room) if ties > MOST_TIES else _rows(scope, charge, last, last)
    return _until(_tail_first(chosen), need_bytes, need_objects, most)


def _cut(
    scope: Sequence[Fingerprint],
    charge: Callable[[int, int], int],
    group: Callable[[int], int],
    takes: Callable[[int], bool],
    limits: tuple[float, float, float],
) -> tuple[int, tuple[int, int]] | None:
    """The group in which the limits are reached, or the last one; and bytes and objects of those before it."""  # fmt: skip
    sums: dict[int, tuple[int, int]] = {}
    for found in scope:
        for _, use, size, blocks in found.rows():
            if takes(use):
                old = sums.get(group(use), (0, 0))
                sums[group(use)] = (old[0] + charge(size, blocks), old[1] + 1)
    need_bytes, need_objects, most = limits
    total = (0, 0)
    last: tuple[int, tuple[int, int]] | None = None
    for key in sorted(sums):
        last = (key, total)
        total = (total[0] + sums[key][0], total[1] + sums[key][1])
        if total[1] >= most or (total[0] >= need_bytes and total[1] >= need_objects):
            break
    return last


def _rows(scope: Sequence[Fingerprint], charge: Callable[[int, int], int], first: int, last: int) -> list[Victim]:
    return [
        Victim(found, ident, use, charge(size, blocks))
        for found in scope
        for ident, use, size, blocks in found.rows()
        if first <= use <= last
    ]


def _count(scope: Sequence[Fingerprint], use: int) -> int:
    return sum(1 for found in scope for row in found.rows() if row[1] == use)


def _ends(scope: Sequence[Fingerprint], charge: Callable[[int, int], int], use: int, most: int) -> list[Victim]:
    """Of the objects used in one second, those that nothing follows; a bitmap of 1 MiB may hide a few of them."""
    mask = (1 << _BITS) - 1
    followed = bytearray(1 << (_BITS - 3))
    for number, found in enumerate(scope):
        for shard in found.shards:
            for pred, when in zip(shard.pred, shard.use, strict=True) if shard is not None else ():
                if pred and when == use:
                    bit = (pred ^ number) & mask
                    followed[bit >> 3] |= 1 << (bit & 7)
    ends: list[Victim] = []
    for number, found in enumerate(scope):
        for ident, when, size, blocks in found.rows():
            bit = (ident ^ number) & mask
            if when == use and not followed[bit >> 3] >> (bit & 7) & 1:
                ends.append(Victim(found, ident, when, charge(size, blocks)))
                if len(ends) >= most:
                    return ends
    return ends


def _tail_first(chosen: list[Victim]) -> list[Victim]:
    depths: dict[tuple[int, int], int] = {}
    return sorted(chosen, key=lambda v: (v.use, -_depth(v.found, v.ident, v.use, depths), v.found.path, v.ident))


def _depth(found: Fingerprint, ident: int, use: int, depths: dict[tuple[int, int], int]) -> int:
    """How many objects of the same second precede one, without a break. Rings, which only a liar makes, end somewhere."""
    path: list[int] = []
    seen: set[int] = set()
    at, base = ident, -1
    while at and at not in seen:
        known = depths.get((id(found), at))
        if known is not None:
            base = known
            break
        row = found.find(at)
        if row is None or row[0].use[row[1]] != use:
            break
        path.append(at)
        seen.add(at)
        at = row[0].pred[row[1]]
    for one in reversed(path):
        base += 1
        depths[id(found), one] = base
    return depths[id(found), ident]


def _until(ordered: list[Victim], need_bytes: float, need_objects: float, most: int) -> list[Victim]:
    taken: list[Victim] = []
    charged = 0
    for victim in ordered:
        if len(taken) >= most or (charged >= need_bytes and len(taken) >= need_objects):
            break
        taken.append(victim)
        charged += victim.charge
    return taken
