"""Names below ``<mount>/v1`` (docs/l2-format.md). Whatever fits none of these is not the keeper's, and is never touched."""

from __future__ import annotations

import re

import xxhash

from .. import names
from ..l2 import paths

VERSION = "v1"
SHARDS = 256
PROBE, HOLDER, USES = "clock", "holder", "uses"
"""The keeper's own files: the first two below ``v1/.keeper``, the last below ``<fingerprint>/.keeper``."""

TENANT = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
"""Line of business."""
MODEL = re.compile(r"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,126}[A-Za-z0-9])?")
NO_MODELS = (names.L2_CHECK_DIRECTORY,)
"""What else this product makes in a line of business's directory; it is not the keeper's."""
FINGERPRINT = re.compile(r"[0-9a-f]{16}")
BYTE = re.compile(r"[0-9a-f]{2}")
NFS = re.compile(r"\.nfs[0-9a-f]{8,32}")
"""What an NFS client leaves of a file that was deleted while open."""
UNSALTED = re.compile(r"(?:[0-9a-f]{64}|[0-9a-f]{16})@[0-9a-f]{8}@(?:0|[1-9a-f][0-9a-f]{0,7})")
"""The usual names, of 32 and of 8 bytes and without a salt. Any even number of digits would take three times as long to match."""


def is_key(key: str) -> bool:
    """Whether a text is the name of an object; the usual form is decided without taking it apart."""
    return UNSALTED.fullmatch(key) is not None or paths.parse_name(key) is not None


def known_at_root(name: str) -> bool:
    """Names in a fingerprint's directory that somebody of this product makes."""
    # LMCache's own filesystem adapter writes below the last kind; its files are not the keeper's.
    return name in (paths.OBJECTS, paths.TMP, paths.USE, paths.KEEPER, names.L2_CONFIG_FILE) or name.startswith(
        names.L2_TMP_PREFIX
    )


ID_MASK = 0xFFFF_FFFF_FFFF


def object_id(key: str) -> int:
    """64 bits that stand for a key: its directory in the upper 16, a hash of the whole in the rest.

    A name of 100 bytes would be most of the memory of a row. Two keys collide only within one directory of one
    fingerprint, so that nobody can make the keeper mistake another one's object for his own.
    """
    return (int(key[:4], 16) << 48) | (xxhash.xxh3_64_intdigest(key.encode()) & ID_MASK)


def directories(ident: int) -> tuple[str, str]:
    """Names of the two directories that hold the object."""
    return f"{ident >> 56:02x}", f"{ident >> 48 & 0xFF:02x}"
