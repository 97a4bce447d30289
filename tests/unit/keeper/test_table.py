"""What a sweep carries over from the one before, by both ways of doing it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_kv_cache.keeper import table
from tiered_kv_cache.keeper.table import EARLIEST, Fingerprint, Row

NOW = EARLIEST + 1_000_000
SHARD = 7
IDENTS = st.integers(0, 40).map(lambda number: SHARD << 56 | number)
TIMES = st.integers(EARLIEST, NOW)
KNOWN = st.dictionaries(IDENTS, st.tuples(TIMES, st.one_of(st.just(0), IDENTS), st.booleans(), TIMES), max_size=12)
"""id -> use, predecessor, whether a sweep saw it, mtime then."""
FOUND = st.dictionaries(IDENTS, st.tuples(st.integers(0, 9), TIMES), min_size=1, max_size=40)


def swept(
    known: dict[int, tuple[int, int, bool, int]], found: dict[int, tuple[int, int]], few: int, swept_at: int
) -> list[list[int]]:
    """The columns after a sweep that found ``found``."""
    made = Fingerprint("lob", "model", "0123456789abcdef")
    shard = made.shard(SHARD)
    for ident, (use, pred, seen, mtime) in known.items():
        at = shard.insert(ident)
        shard.use[at], shard.pred[at] = use, pred
        if seen:
            shard.size[at], shard.mtime[at] = 1, mtime
            made.objects += 1
            made.size += 1
    shard.swept = swept_at
    rows: list[Row] = [(ident, size, 1, mtime) for ident, (size, mtime) in found.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "FEW", few)
        made.replace(SHARD, rows, NOW, NOW)
    after = made.shard(SHARD)
    columns = [list(column) for column in (after.ids, after.use, after.pred, after.size, after.mtime, after.blocks)]
    return [*columns, [made.objects, made.size, made.newest]]


@given(KNOWN, FOUND, st.one_of(st.just(0), TIMES))
def test_few_known_rows_are_carried_over_as_many_are(
    known: dict[int, tuple[int, int, bool, int]], found: dict[int, tuple[int, int]], swept_at: int
) -> None:
    by_known, by_found = (swept(known, found, few, swept_at) for few in (0, 10**9))
    assert by_known == by_found
    ids, uses = by_known[0], by_known[1]
    for ident, use in zip(ids, uses, strict=True):
        assert use >= max(found[ident][1] if ident not in known else known[ident][0], 0)
