"""An object's bytes: whatever happens to them, they are the object that was asked for or a fault with its cause."""

from __future__ import annotations

import struct

import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tiered_kv_cache.l2 import format as f
from tiered_kv_cache.l2 import paths

NAME = paths.object_name(b"\x01\x02" * 16, 0x01000100)
OTHER = paths.object_name(b"\x03\x04" * 16, 0x01000100)
PAYLOAD = bytes(range(256)) * 40
LAYOUT = f.layout_fingerprint("0123456789abcdef", "/models/tiny", [((2, 18, 256, 256), "bfloat16")])


def an_object(name: str = NAME, salt: str = "", layout: int = LAYOUT, payload: bytes = PAYLOAD) -> bytes:
    head = f.Header(name, len(payload), f.payload_checksum(payload), layout, 1_700_000_000_000_000_000, salt)
    return f.encode_header(head) + payload


def read(data: bytes, name: str = NAME, salt: str = "", layout: int = LAYOUT, length: int = len(PAYLOAD)) -> bytes:
    """What a reader must do, in the format's words."""
    head = f.decode_header(data)
    f.check(head, f.Expected(name, salt, layout, length), len(data))
    if f.payload_checksum(data[f.HEADER :]) != head.payload_checksum:
        raise f.FormatError("checksum", "payload")
    return data[f.HEADER :]


def test_header_lies_in_the_file_as_the_format_says() -> None:
    data = an_object(salt="bob")
    assert data[:8] == b"TKCL2OB1"
    assert struct.unpack_from("<II", data, 8) == (4096, 1)
    assert struct.unpack_from("<QQQQ", data, 16) == (
        len(PAYLOAD),
        f.payload_checksum(PAYLOAD),
        LAYOUT,
        1_700_000_000_000_000_000,
    )
    assert struct.unpack_from("<H", data, 48) == (len(NAME),)
    assert data[50 : 50 + len(NAME)].decode() == NAME
    assert data[50 + len(NAME) :][:5] == b"\x03\x00bob"
    assert struct.unpack_from("<Q", data, 4088) == (xxhash.xxh3_64_intdigest(data[:4088]),)
    assert len(data) == 4096 + len(PAYLOAD)


def test_checksum_is_folded_from_slices() -> None:
    payload = bytes(3 * 1024 * 1024) + b"tail"
    parts = [payload[at : at + (1 << 20)] for at in range(0, len(payload), 1 << 20)]
    folded = b"".join(xxhash.xxh3_64_intdigest(p).to_bytes(8, "little") for p in parts)
    assert len(parts) == 4
    assert f.payload_checksum(payload) == xxhash.xxh3_64_intdigest(folded)


def test_layout_is_the_text_of_the_format() -> None:
    text = b'["0123456789abcdef","/models/tiny",[[[2,18,256,256],"bfloat16"]]]'
    assert xxhash.xxh3_64_intdigest(text) == LAYOUT


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=5000), st.text(max_size=128))
@example(b"x", "\U0001f600" * 128)
@example(b"x", "\ud800")
def test_what_was_written_is_read(payload: bytes, salt: str) -> None:
    name = paths.object_name(b"\x05\x06\x07", 7, 3, salt)
    assert read(an_object(name, salt, payload=payload), name, salt, length=len(payload)) == payload


@settings(deadline=None)
@given(st.integers(0, 4096 + len(PAYLOAD) - 1))
def test_every_truncation_is_a_miss(length: int) -> None:
    with pytest.raises(f.FormatError) as err:
        read(an_object()[:length])
    assert err.value.cause == "length"


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=64))
def test_anything_behind_the_payload_is_a_miss(more: bytes) -> None:
    with pytest.raises(f.FormatError) as err:
        read(an_object() + more)
    assert err.value.cause == "length"


@settings(deadline=None)
@given(st.integers(0, 4096 + len(PAYLOAD) - 1), st.integers(0, 7))
def test_every_flipped_bit_is_a_miss(at: int, bit: int) -> None:
    data = bytearray(an_object())
    data[at] ^= 1 << bit
    with pytest.raises(f.FormatError) as err:
        read(bytes(data))
    assert err.value.cause == ("magic" if at < 8 else "header" if at < 4096 else "checksum")


@pytest.mark.parametrize("cut", [28, 512, 4095, 4096, 4100, 8192])
def test_halves_of_two_objects_are_a_miss(cut: int) -> None:
    one, two = an_object(), an_object(payload=PAYLOAD[::-1])
    with pytest.raises(f.FormatError):
        read(one[:cut] + two[cut:])


def test_foreign_objects_are_a_miss() -> None:
    for data, cause in (
        (an_object(OTHER), "key"),
        (an_object(salt="bob"), "key"),
        (an_object(layout=LAYOUT + 1), "layout"),
        (an_object(payload=PAYLOAD * 2), "length"),
        (b"\0" * 20000, "magic"),
    ):
        with pytest.raises(f.FormatError) as err:
            read(data)
        assert err.value.cause == cause
        assert cause in f.CAUSES


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_a_header_with_a_right_sum_but_any_content_never_raises_anything_else(noise: bytes) -> None:
    body = f.MAGIC + struct.pack("<II", 4096, 1) + noise.ljust(4072, b"\xff")
    data = body + struct.pack("<Q", f.slice_digest(body))
    try:
        f.decode_header(data)
    except f.FormatError as err:
        assert err.cause in f.CAUSES


def test_what_does_not_fit_is_refused_before_it_is_written() -> None:
    with pytest.raises(ValueError, match="without payload"):
        f.encode_header(f.Header(NAME, 0, 0, 0, 0))
    with pytest.raises(ValueError, match="salt of 516 bytes"):
        f.encode_header(f.Header(NAME, 1, 0, 0, 0, "\U0001f600" * 129))


NAMES = st.builds(paths.object_name, st.binary(min_size=2, max_size=48), st.integers(0, 2**32 - 1), st.integers(0, 99))


@settings(deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=3), st.integers(1, 3000), st.sampled_from([f.USE, f.PUT]))
def test_a_log_gives_back_each_chain_in_order(some: list[str], length: int, kind: str) -> None:
    chain = [some[i % len(some)] for i in range(length)]
    lines = list(f.parse_log(f.format_lines(1_700_000_000, kind, chain).encode()))
    assert {(line.time, line.kind) for line in lines} == {(1_700_000_000, kind)}
    assert all(len(line.names) <= f.NAMES_A_LINE for line in lines)
    joined = list(lines[0].names)
    for line in lines[1:]:
        assert line.names[0] == joined[-1]
        joined += line.names[1:]
    assert joined == chain


@settings(deadline=None)
@given(st.integers(0, 400))
def test_a_torn_log_is_read_to_its_last_whole_line(cut: int) -> None:
    data = (f.format_lines(5, f.USE, [NAME, OTHER]) + f.format_lines(5, f.PUT, [OTHER])).encode()
    whole = data[:cut].count(b"\n")
    assert len(list(f.parse_log(data[:cut]))) == min(whole, 2)


@pytest.mark.parametrize(
    "line",
    ["", "5 use", "5 use ", f"x use {NAME}", f"5 drop {NAME}", f"5 use {NAME}.kv", f"5 use  {NAME}", f"-5 use {NAME}"],
)
def test_lines_of_no_format_end_the_log(line: str) -> None:
    assert f.parse_line(line) is None
    assert len(list(f.parse_log(f"4 put {NAME}\n{line}\n4 put {NAME}\n".encode()))) == 1
