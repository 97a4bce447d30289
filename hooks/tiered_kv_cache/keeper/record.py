"""The keeper's own record of uses and predecessors, ``<fingerprint>/.keeper/uses``: what the tree itself does not tell.

Little endian: magic, number of rows, then the columns id (8 bytes), predecessor (8), use (4), sorted by id; at the end
BLAKE2b-128 of all before. It lies where a tenant may write: whatever is in it can at worst mark this fingerprint's objects.
"""

from __future__ import annotations

import struct
import sys
from array import array
from hashlib import blake2b

from ..l2 import paths
from . import layout
from .table import Fingerprint, Shard
from .tree import Tree

MAGIC = b"TKCKUSE1"
_HEAD = struct.Struct("<8sQ")
DIGEST = 16
ROW = 20


def save(tree: Tree, root: int, found: Fingerprint) -> None:
    """Write the record of a fingerprint. Raises OSError."""
    with tree.directory(root, paths.KEEPER, make=True) as own:
        if own is None:
            return
        tree.write(own, layout.USES, encode(found))
    found.dirty = False


def load(tree: Tree, root: int, found: Fingerprint, now: int, most: int) -> bool:
    """Fill an empty fingerprint from its record; False if there is none that is whole. ``most``: rows taken at most."""
    found.loaded = True
    with tree.directory(root, paths.KEEPER) as own:
        read = tree.read(own, layout.USES, _HEAD.size + DIGEST + ROW * most) if own is not None else None
    return read is not None and decode(read[0], found, now)


def encode(found: Fingerprint) -> list[bytes]:
    """The record's bytes, in parts."""
    shards = [s for s in found.shards if s is not None and len(s.ids)]
    parts = [_HEAD.pack(MAGIC, sum(len(s.ids) for s in shards))]
    for column in ("ids", "pred", "use"):
        parts += [_little(getattr(s, column)) for s in shards]
    digest = blake2b(digest_size=DIGEST)
    for part in parts:
        digest.update(part)
    return [*parts, digest.digest()]


def decode(data: bytes, found: Fingerprint, now: int) -> bool:
    """Fill shards from bytes; False, and nothing changed, if they are no record."""
    if len(data) < _HEAD.size + DIGEST:
        return False
    magic, count = _HEAD.unpack_from(data)
    if magic != MAGIC or len(data) != _HEAD.size + ROW * count + DIGEST:
        return False
    if blake2b(memoryview(data)[:-DIGEST], digest_size=DIGEST).digest() != data[-DIGEST:]:
        return False
    at = _HEAD.size
    ids, pred, use = array("Q"), array("Q"), array("I")
    for column in (ids, pred, use):
        end = at + count * column.itemsize
        column.frombytes(memoryview(data)[at:end])
        if sys.byteorder != "little":
            column.byteswap()
        at = end
    if any(ids[i] >= ids[i + 1] for i in range(len(ids) - 1)):
        return False
    start = 0
    while start < count:
        number = ids[start] >> 56
        end = start
        while end < count and ids[end] >> 56 == number:
            end += 1
        shard = Shard()
        shard.ids, shard.pred = ids[start:end], pred[start:end]
        shard.use = array("I", (min(u, now) for u in use[start:end]))
        shard.size, shard.blocks, shard.mtime = (array(t, bytes(array(t).itemsize * (end - start))) for t in "QII")
        found.shards[number] = shard
        start = end
    return True


def _little(column: array[int]) -> bytes:
    if sys.byteorder == "little":
        return column.tobytes()
    turned = array(column.typecode, column)
    turned.byteswap()
    return turned.tobytes()
