"""The objects of these tests: their names, their right bytes, and what lies on the disk in their places."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, field
from pathlib import Path

from tiered_kv_cache.l2 import format, paths
from tiered_kv_cache.l2.task import Ref

CHAINS, LENGTH_OF_CHAIN = 4, 6
SIZE = 1_100_003
"""Bytes of payload: two slices, and an odd end."""
FINGERPRINT = "0123456789abcdef"
FOLDER = f"v1/lob/model/{FINGERPRINT}"
LAYOUT = format.layout_fingerprint(FINGERPRINT, "model", [((SIZE,), "uint8")])


def _name(number: int) -> str:
    return paths.object_name(random.Random(f"hash {number}").randbytes(32), kv_rank=1, group=0, salt="")


CHAIN_NAMES = [[_name(chain * 100 + place) for place in range(LENGTH_OF_CHAIN)] for chain in range(CHAINS)]
NAMES = [name for chain in CHAIN_NAMES for name in chain]


@functools.cache
def payload(name: str) -> bytes:
    """The only right bytes of an object: no two objects have a slice in common."""
    return random.Random(name).randbytes(SIZE)


def ref(name: str) -> Ref:
    return Ref(name, "", LAYOUT, SIZE)


def fill() -> None:
    """Compute all payloads now, so that processes forked later share them."""
    for name in NAMES:
        payload(name)


@dataclass
class Found:
    """What lies below a fingerprint's directory: objects, those with wrong bytes, temporary files and strangers."""

    good: set[str] = field(default_factory=set)
    bad: dict[str, str] = field(default_factory=dict)
    temporary: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)


def scan(tree: Path) -> Found:
    """Read everything, without the code under test where that is possible."""
    found = Found()
    for path in sorted(tree.rglob("*")):
        place = path.relative_to(tree).as_posix()
        if path.is_dir():
            continue
        if place.startswith(f"{paths.TMP}/"):
            found.temporary.append(place)
        elif place.startswith((f"{paths.USE}/", f"{paths.KEEPER}/")):
            continue
        elif (name := paths.name_of(place)) is None or name not in NAMES:
            found.strange.append(place)
        elif fault := _fault(path.read_bytes(), name):
            found.bad[name] = fault
        else:
            found.good.add(name)
    return found


def _fault(data: bytes, name: str) -> str:
    if len(data) != format.HEADER + SIZE:
        return f"{len(data)} bytes"
    if data[format.HEADER :] != payload(name):
        return "payload"
    try:
        header = format.decode_header(data[: format.HEADER])
        format.check(header, format.Expected(name, "", LAYOUT, SIZE), len(data))
    except format.FormatError as error:
        return f"header: {error}"
    return "" if header.payload_checksum == format.payload_checksum(payload(name)) else "checksum"
