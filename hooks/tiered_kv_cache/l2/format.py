"""An object's header, its checksum, and the lines of a use log (docs/l2-format.md). Pure; nothing here touches a file."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import xxhash

from . import paths

MAGIC = b"TKCL2OB1"
HEADER = 4096
"""Bytes of an object's header."""
SLICE = 1 << 20
"""Bytes of payload that are summed at once."""
CHECKSUM_XXH3_SLICES = 1
SALT_BYTES = 512
"""LMCache allows 128 characters of at most four bytes."""

_FIXED = struct.Struct("<8sIIQQQQ")
_LENGTH = struct.Struct("<H")
_SUM = struct.Struct("<Q")
_KEY_AT = _FIXED.size
_SUM_AT = HEADER - _SUM.size

Bytes = bytes | bytearray | memoryview


class FormatError(Exception):
    """These bytes are not the object that was asked for. ``cause`` is one of CAUSES, the label of the metric."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


CAUSES = ("magic", "header", "key", "layout", "length", "checksum", "kind")
"""The last: no regular file."""


@dataclass(frozen=True)
class Header:
    """An object's header. Lengths in bytes, ``stored_ns`` since the epoch, ``layout`` as of layout_fingerprint."""

    name: str
    payload_length: int
    payload_checksum: int
    layout: int
    stored_ns: int
    salt: str = ""

    @property
    def file_length(self) -> int:
        """Bytes of the whole file."""
        return HEADER + self.payload_length


def layout_fingerprint(fingerprint: str, model: str, parts: Sequence[tuple[Sequence[int], str]]) -> int:
    """XXH3-64 of what must be equal for two objects' bytes to mean the same.

    ``fingerprint``: the directory's name. ``model``: as in LMCache's key. ``parts``: shape and dtype ("bfloat16") of each tensor.
    """
    text = json.dumps([fingerprint, model, [[list(shape), dtype] for shape, dtype in parts]], separators=(",", ":"))
    return int(xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")))


def slice_digest(data: Bytes) -> int:
    """XXH3-64 of one slice."""
    return int(xxhash.xxh3_64_intdigest(data))


def fold(digests: Iterable[int]) -> int:
    """The payload's checksum from those of its slices, in order."""
    values = tuple(digests)
    return int(xxhash.xxh3_64_intdigest(struct.pack(f"<{len(values)}Q", *values)))


def payload_checksum(payload: Bytes) -> int:
    """Checksum of a whole payload."""
    view = memoryview(payload).cast("B")
    return fold(slice_digest(view[at : at + SLICE]) for at in range(0, len(view), SLICE))


def encode_header(header: Header) -> bytes:
    """HEADER bytes. Raises ValueError where a field does not fit; such an object cannot be stored."""
    key, salt = header.name.encode("ascii"), paths.salt_bytes(header.salt)
    if len(salt) > SALT_BYTES:
        raise ValueError(f"salt of {len(salt)} bytes: the format takes {SALT_BYTES}")
    if header.payload_length < 1:
        raise ValueError("an object without payload")
    fixed = _FIXED.pack(
        MAGIC,
        HEADER,
        CHECKSUM_XXH3_SLICES,
        header.payload_length,
        header.payload_checksum,
        header.layout,
        header.stored_ns,
    )
    body = b"".join((fixed, _LENGTH.pack(len(key)), key, _LENGTH.pack(len(salt)), salt)).ljust(_SUM_AT, b"\0")
    return body + _SUM.pack(slice_digest(body))


def decode_header(data: Bytes) -> Header:
    """The header of an object, whole in itself. Raises FormatError.

    Whether it is the object that was asked for, check says.
    """
    view = memoryview(data).cast("B")
    if len(view) < HEADER:
        raise FormatError("length", f"{len(view)} bytes are less than a header")
    magic, length, kind, payload_length, payload_sum, layout, stored = _FIXED.unpack_from(view)
    if magic != MAGIC:
        raise FormatError("magic", f"starts with {bytes(view[:8])!r}")
    if _SUM.unpack_from(view, _SUM_AT)[0] != slice_digest(view[:_SUM_AT]):
        raise FormatError("header", "the header's checksum differs")
    if length != HEADER or kind != CHECKSUM_XXH3_SLICES or payload_length < 1:
        raise FormatError("header", f"header of {length} bytes, checksum kind {kind}, payload {payload_length}")
    try:
        key, at = _text(view, _KEY_AT)
        salt, _ = _text(view, at)
        return Header(
            key.decode("ascii"), payload_length, payload_sum, layout, stored, salt.decode("utf-8", "surrogatepass")
        )
    except ValueError as err:  # UnicodeDecodeError is one.
        raise FormatError("header", f"key or salt cannot be read: {err}") from None


def _text(view: memoryview, at: int) -> tuple[bytes, int]:
    (length,) = _LENGTH.unpack_from(view, at)
    end = at + _LENGTH.size + length
    if end > _SUM_AT - _LENGTH.size:
        raise ValueError(f"{length} bytes at {at} do not fit")
    return bytes(view[at + _LENGTH.size : end]), end


@dataclass(frozen=True)
class Expected:
    """What a reader asked for: an object's name, salt, layout fingerprint and bytes of payload."""

    name: str
    salt: str
    layout: int
    payload_length: int


def check(header: Header, expected: Expected, file_length: int) -> None:
    """Whether ``header`` is of the object that was asked for; raises FormatError. The payload's checksum comes after it."""
    if header.name != expected.name or header.salt != expected.salt:
        raise FormatError("key", f"holds {header.name}")
    if header.layout != expected.layout:
        raise FormatError("layout", f"layout {header.layout:016x} instead of {expected.layout:016x}")
    if header.payload_length != expected.payload_length or header.file_length != file_length:
        raise FormatError(
            "length",
            f"payload {header.payload_length}, file {file_length} bytes, payload {expected.payload_length} wanted",
        )


USE, PUT = "use", "put"
"""Kinds of a use log's lines."""
NAMES_A_LINE = 512
"""A longer chain goes on in the next line, which repeats the last name, so that it is known as predecessor."""


@dataclass(frozen=True)
class LogLine:
    """``time``: seconds since the epoch at which the interval began; ``names``: each the predecessor of the next."""

    time: int
    kind: str
    names: tuple[str, ...]


def format_lines(time: int, kind: str, names: Sequence[str]) -> str:
    """Lines of a use log for one chain, each with its newline; none for an empty chain."""
    lines = []
    at = 0
    while at < len(names):
        lines.append(f"{time} {kind} {' '.join(names[at : at + NAMES_A_LINE])}\n")
        if at + NAMES_A_LINE >= len(names):
            break
        at += NAMES_A_LINE - 1
    return "".join(lines)


def parse_line(line: str) -> LogLine | None:
    """One line without its newline; None if it is none of the format."""
    parts = line.split(" ")
    if len(parts) < 3 or parts[1] not in (USE, PUT) or not parts[0].isascii() or not parts[0].isdigit():
        return None
    if len(parts[0]) > 12 or len(parts) - 2 > NAMES_A_LINE or any(paths.parse_name(n) is None for n in parts[2:]):
        return None
    return LogLine(int(parts[0]), parts[1], tuple(parts[2:]))


def parse_log(data: bytes) -> Iterator[LogLine]:
    """The lines of a log as far as its last whole one that fits the format."""
    end = data.rfind(b"\n")
    for raw in data[: max(end, 0)].split(b"\n"):
        try:
            line = parse_line(raw.decode("ascii"))
        except UnicodeDecodeError:
            return
        if line is None:
            return
        yield line
