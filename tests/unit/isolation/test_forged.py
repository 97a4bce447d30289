"""Objects that somebody puts where they do not belong, beyond those of tests/unit/l2/test_loads.py: a miss, never a wrong block."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from tiered_kv_cache.l2 import format, paths
from tiered_kv_cache.l2.task import Ref
from unit.l2.tiers import LAYOUT, Answer, Bench, bench, payload

SIZE = 5000
HASH = b"\x01\x02" * 16
MINE, THEIRS = "a" * 64, "b" * 64
"""Salts as the middleware makes them."""


def ref(salt: str) -> Ref:
    """One chunk under a salt."""
    return Ref(paths.object_name(HASH, 1, 0, salt), salt, LAYOUT, SIZE)


def store(b: Bench, salt: str, seed: int) -> Path:
    """Store it; its file."""
    answer = Answer()
    b.tier.store([(ref(salt), memoryview(bytearray(payload(seed, SIZE))))], answer)
    assert answer.wait().slots[0].cause is None
    return b.base / paths.object_path(ref(salt).name)


def load(b: Bench, salt: str) -> tuple[str | None, bytes]:
    """Why it was a miss, if it was one, and the buffer."""
    buffer, answer = bytearray(b"\xaa" * SIZE), Answer()
    b.tier.load([(ref(salt), memoryview(buffer))], 1, answer)
    return answer.wait().slots[0].cause, bytes(buffer)


def test_an_object_of_a_foreign_salt_under_the_own_name_is_a_miss(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        mine, theirs = store(b, MINE, 1), store(b, THEIRS, 2)
        shutil.copy(theirs, mine)
        assert load(b, MINE)[0] == "key"
        assert load(b, THEIRS) == (None, payload(2, SIZE))


def test_a_header_forged_with_right_sums_but_another_salt_is_a_miss(tmp_path: Path) -> None:
    """Who may write to the tree can write any payload under its own key; it cannot pass one salt's object for another's."""
    with bench(tmp_path) as b:
        mine = store(b, MINE, 1)
        body = payload(3, SIZE)
        head = format.Header(ref(MINE).name, SIZE, format.payload_checksum(body), LAYOUT, 1, THEIRS)
        mine.write_bytes(format.encode_header(head) + body)
        assert load(b, MINE)[0] == "key"


@pytest.mark.parametrize("layout", [LAYOUT + 1, 0, 2**64 - 1])
def test_a_forged_fingerprint_is_a_miss(tmp_path: Path, layout: int) -> None:
    with bench(tmp_path) as b:
        mine = store(b, MINE, 1)
        body = payload(3, SIZE)
        head = format.Header(ref(MINE).name, SIZE, format.payload_checksum(body), layout, 1, MINE)
        mine.write_bytes(format.encode_header(head) + body)
        assert load(b, MINE)[0] == "layout"


def test_a_hard_link_to_a_file_outside_is_a_miss_and_the_file_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret" * 2000)
    with bench(tmp_path / "base") as b:
        mine = store(b, MINE, 1)
        mine.unlink()
        os.link(outside, mine)
        assert load(b, MINE)[0] == "length"
        assert store(b, MINE, 1).stat().st_ino != outside.stat().st_ino
    assert outside.read_bytes() == b"secret" * 2000


def test_a_socket_is_a_miss_and_nobody_waits_for_it(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        mine = store(b, MINE, 1)
        mine.unlink()
        here = Path.cwd()
        os.chdir(mine.parent)
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(mine.name[:90])
                Path(mine.name[:90]).rename(mine.name)
        finally:
            os.chdir(here)
        assert load(b, MINE)[0] == "kind"
        assert not b.tier.read_breaker.is_open
        assert store(b, MINE, 1).is_file()
        assert load(b, MINE) == (None, payload(1, SIZE))
