"""Names below ``<mount>/v1`` (docs/l2-format.md). Whatever fits none of these is not the keeper's, and is never touched."""

from __future__ import annotations

import re
from hashlib import blake2b

from .. import names

VERSION = "v1"
OWN = ".keeper"
OBJECTS, TMP, USE = "objects", "tmp", "use"
CONFIG = names.L2_CONFIG_FILE
SHARDS = 256

TENANT = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
"""Line of business."""
MODEL = re.compile(r"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,126}[A-Za-z0-9])?")
FINGERPRINT = re.compile(r"[0-9a-f]{16}")
BYTE = re.compile(r"[0-9a-f]{2}")
KEY = re.compile(r"[0-9a-f]{4,128}@[0-9a-f]{8}@[0-9a-f]{1,8}(?:@(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2})+)?")
"""An object's name without ``.kv``."""
WRITER = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\.[0-9a-f]{8}")
LOG = re.compile(r"[0-9]{1,20}\.log")
STORE = re.compile(r"[0-9]{1,20}\.tmp")
BAD = re.compile(r"[0-9]{1,20}\.bad")
NFS = re.compile(r"\.nfs[0-9a-f]{8,32}")
"""What an NFS client leaves of a file that was deleted while open."""

SUFFIX = ".kv"
MOST_NAME = 255


def object_id(key: str) -> int:
    """64 bits that stand for a key: its directory in the upper 16, a hash of the whole in the rest.

    A name of 100 bytes would be most of the memory of a row. Two keys collide only within one directory of one
    fingerprint, so that nobody can make the keeper mistake another one's object for his own.
    """
    return (int(key[:4], 16) << 48) | int.from_bytes(blake2b(key.encode(), digest_size=6).digest())


def shard_of(ident: int) -> int:
    """Number of the first-level directory, 0 to 255."""
    return ident >> 56


def directories(ident: int) -> tuple[str, str]:
    """Names of the two directories that hold the object."""
    return f"{ident >> 56:02x}", f"{ident >> 48 & 0xFF:02x}"
