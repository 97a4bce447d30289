"""Names of the L2 tree below a fingerprint's directory (docs/l2-format.md). Pure text; nothing here touches a file.

Bytes of a name that come from outside (the salt is the client's) are encoded, so that no name leaves its directory.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

OBJECTS = "objects"
TMP = "tmp"
USE = "use"
KEEPER = ".keeper"
"""The four directories below a fingerprint's."""
OBJECT_SUFFIX = ".kv"
TMP_SUFFIX = ".tmp"
BAD_SUFFIX = ".bad"
LOG_SUFFIX = ".log"
DIRECTORY_MODE = 0o2770
FILE_MODE = 0o640
"""Without the umask: see the format."""
OPEN_DIRECTORY_MODE = 0o777
OPEN_FILE_MODE = 0o666
"""Where the writer may not give what it makes to the group of the fingerprint's directory."""
HASH_BYTES = (2, 48)
"""Shortest and longest chunk hash. LMCache's blake3 has 32 bytes; two are the directories."""
SALT_CHARACTERS = 96
"""Longest encoded salt in a name; a longer one is named by its SHA-256, since a file name has at most 255 bytes."""

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_BYTES = [chr(b) if b in _PLAIN else f"%{b:02X}" for b in range(256)]
_NAME = re.compile(
    r"(?P<hash>(?:[0-9a-f]{2}){2,48})@(?P<rank>[0-9a-f]{8})@(?P<group>0|[1-9a-f][0-9a-f]{0,7})"
    r"(?:@(?:(?P<salt>(?:[A-Za-z0-9_-]|%[0-9A-F]{2})+)|=(?P<digest>[0-9a-f]{64})))?"
)
_WRITER = re.compile(r"(?P<pod>[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)\.(?P<start>[0-9a-f]{8})")
_NUMBERED = re.compile(r"(0|[1-9][0-9]{0,18})")


@dataclass(frozen=True)
class ObjectName:
    """What an object's name says.

    ``chunk_hash``: raw bytes. ``salt``: "" where there is none, None where the name has only ``salt_digest`` (hex SHA-256;
    the salt itself is in the object's header).
    """

    chunk_hash: bytes
    kv_rank: int
    group: int
    salt: str | None = ""
    salt_digest: str | None = None


def encode_salt(salt: str) -> str:
    """``salt`` as it stands in a name: percent-encoded, or '=' and its SHA-256 where that is longer than SALT_CHARACTERS.

    Lone surrogates, which JSON can carry, are encoded as Python's "surrogatepass" does.
    """
    raw = salt_bytes(salt)
    encoded = "".join([_BYTES[b] for b in raw])
    return encoded if len(encoded) <= SALT_CHARACTERS else "=" + hashlib.sha256(raw).hexdigest()


def salt_bytes(salt: str) -> bytes:
    """UTF-8 of a salt, as in an object's header."""
    return salt.encode("utf-8", "surrogatepass")


def object_name(chunk_hash: bytes, kv_rank: int, group: int = 0, salt: str = "") -> str:
    """The name of an object, without directories and suffix.

    Raises ValueError where a part does not fit the format; such an object cannot be stored.
    """
    if not HASH_BYTES[0] <= len(chunk_hash) <= HASH_BYTES[1]:
        raise ValueError(f"chunk hash of {len(chunk_hash)} bytes: the format takes {HASH_BYTES[0]} to {HASH_BYTES[1]}")
    if not 0 <= kv_rank < 1 << 32 or not 0 <= group < 1 << 32:
        raise ValueError(f"rank {kv_rank} or group {group}: the format takes 32 bits each")
    if salt:
        return f"{chunk_hash.hex()}@{kv_rank:08x}@{group:x}@{encode_salt(salt)}"
    return f"{chunk_hash.hex()}@{kv_rank:08x}@{group:x}"


def parse_name(name: str) -> ObjectName | None:
    """The reverse of object_name; None for every text that object_name cannot have made."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    salt: str | None = ""
    if match["digest"] is not None:
        salt = None
    elif match["salt"] is not None:
        try:
            salt = unquote_to_bytes(match["salt"]).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
        if encode_salt(salt) != match["salt"]:
            return None  # Two names for one salt would be two objects.
    return ObjectName(
        bytes.fromhex(match["hash"]), int(match["rank"], 16), int(match["group"], 16), salt, match["digest"]
    )


def object_directory(name: str) -> str:
    """Directory of an object, below the fingerprint's: 65,536 of them at most."""
    return f"{OBJECTS}/{name[:2]}/{name[2:4]}"


def object_path(name: str) -> str:
    """Path of an object, below the fingerprint's directory."""
    return f"{OBJECTS}/{name[:2]}/{name[2:4]}/{name}{OBJECT_SUFFIX}"


def name_of(path: str) -> str | None:
    """The object's name for a path below the fingerprint's directory; None for every path that is no object's."""
    file = path.rpartition("/")[2]
    name = file.removesuffix(OBJECT_SUFFIX)
    return name if name != file and parse_name(name) is not None and object_path(name) == path else None


def new_writer(pod: str) -> str:
    """A writer's name, new at each start: a Pod that was killed leaves its files to the keeper.

    Raises ValueError if ``pod`` is no Kubernetes name.
    """
    writer = f"{pod}.{secrets.token_hex(4)}"
    if parse_writer(writer) is None:
        raise ValueError(f"{pod!r} is no Pod name")
    return writer


def parse_writer(writer: str) -> tuple[str, str] | None:
    """Pod name and start of a writer; None if it is no writer's name."""
    match = _WRITER.fullmatch(writer)
    return (match["pod"], match["start"]) if match and ".." not in writer else None


def tmp_directory(writer: str) -> str:
    """Where a writer's stores under way and set-aside objects lie, below the fingerprint's directory."""
    return f"{TMP}/{writer}"


def tmp_path(writer: str, number: int) -> str:
    """A store under way."""
    return f"{TMP}/{writer}/{number}{TMP_SUFFIX}"


def bad_path(writer: str, number: int) -> str:
    """An object set aside."""
    return f"{TMP}/{writer}/{number}{BAD_SUFFIX}"


def use_directory(writer: str) -> str:
    """Where a writer's use logs lie, below the fingerprint's directory."""
    return f"{USE}/{writer}"


def use_path(writer: str, number: int) -> str:
    """A use log."""
    return f"{USE}/{writer}/{number}{LOG_SUFFIX}"


def number_of(file: str, suffix: str) -> int | None:
    """The number in the name of a temporary, bad or log file; None if it is no such name."""
    stem = file.removesuffix(suffix)
    return int(stem) if stem != file and _NUMBERED.fullmatch(stem) else None
