"""Names of the L2 tree: each key has one, no two share one, and none leaves its directory."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tiered_kv_cache.l2 import paths

HASH = bytes.fromhex("ab") * 32
# LMCache's own: at most 128 characters, without @, /, \ and NUL; here every text, since a client chooses it.
SALTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=128)
HARD = [".", "..", "a b", "A", "a", "x\ny", "@", "=", "%41", "/", "../../etc", "\ud800", "\U0001f600" * 128, "a" * 128]


def test_a_name_and_its_path() -> None:
    assert paths.object_name(HASH, 0x01000100, 10) == "ab" * 32 + "@01000100@a"
    assert paths.object_name(b"\x01\x02", 1, 0, "Bob_1-ö.") == "0102@00000001@0@Bob_1-%C3%B6%2E"
    assert paths.object_path("0102@00000001@0") == "objects/01/02/0102@00000001@0.kv"
    assert paths.object_directory("0102@00000001@0") == "objects/01/02"


@settings(deadline=None)
@given(st.binary(min_size=2, max_size=48), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), SALTS)
@example(HASH, 0, 0, "")
@example(b"\xff" * 48, 2**32 - 1, 2**32 - 1, "\U0001f600" * 128)
def test_every_key_comes_back_and_stays_in_its_directory(key: bytes, rank: int, group: int, salt: str) -> None:
    name = paths.object_name(key, rank, group, salt)
    parsed = paths.parse_name(name)
    assert parsed is not None
    assert (parsed.chunk_hash, parsed.kv_rank, parsed.group) == (key, rank, group)
    assert parsed.salt == salt or (parsed.salt is None and len(parsed.salt_digest or "") == 64)
    path = paths.object_path(name)
    assert len(posixpath.basename(path).encode()) <= 255
    assert posixpath.normpath(path) == path
    assert path.startswith("objects/") and path.count("/") == 3
    assert paths.name_of(path) == name
    assert path.isascii() and path.isprintable() and " " not in path


def test_hard_salts_all_differ() -> None:
    names = {paths.object_name(HASH, 0, 0, salt) for salt in ["", *HARD]}
    assert len(names) == len(HARD) + 1


@settings(deadline=None)
@given(st.text(st.sampled_from("0123456789abcdefABCDEF@=%.-_~/ \n"), max_size=90))
@example("0102@00000001@0@a%2e")
@example("0102@00000001@00")
@example("0102@00000001@0@%41")
@example("0102@00000001@0@")
@example("0102@00000001@0@" + "a" * 97)
@example("0102@00000001@0\n")
def test_no_text_is_a_second_spelling(text: str) -> None:
    parsed = paths.parse_name(text)
    if parsed is not None and parsed.salt is not None:
        assert paths.object_name(parsed.chunk_hash, parsed.kv_rank, parsed.group, parsed.salt) == text


@pytest.mark.parametrize(
    "text",
    [
        "0102@00000001@0@a%2e",
        "0102@00000001@00",
        "0102@00000001@0@%41",
        "0102@00000001@0@",
        "01@00000001@0",
        "0102@1@0",
        "0102@00000001@0@" + "a" * 97,
        "0102@00000001@0\n",
        "0102@00000001@0@%FF",
        "",
        "AB02@00000001@0",
    ],
)
def test_what_no_adapter_writes_is_no_name(text: str) -> None:
    assert paths.parse_name(text) is None


@pytest.mark.parametrize(
    "path", ["objects/01/03/0102@00000001@0.kv", "objects/0102@00000001@0.kv", "0102@00000001@0", "objects/01/02/x.kv"]
)
def test_an_object_at_another_place_is_none(path: str) -> None:
    assert paths.name_of(path) is None


@pytest.mark.parametrize(
    ("key", "rank", "group"), [(b"\x01", 0, 0), (b"x" * 49, 0, 0), (HASH, 2**32, 0), (HASH, 0, -1)]
)
def test_keys_that_do_not_fit_are_refused(key: bytes, rank: int, group: int) -> None:
    with pytest.raises(ValueError, match="the format takes"):
        paths.object_name(key, rank, group)


def test_writers() -> None:
    one, two = paths.new_writer("tiny-0"), paths.new_writer("tiny-0")
    assert one != two
    assert paths.parse_writer(one) == ("tiny-0", one[-8:])
    assert paths.tmp_path(one, 3) == f"tmp/{one}/3.tmp"
    assert paths.bad_path(one, 3) == f"tmp/{one}/3.bad"
    assert paths.use_path(one, 3) == f"use/{one}/3.log"
    for bad in ("", "a/b", "..", ".", "A", "a" * 254, "a\n", "-a"):
        with pytest.raises(ValueError, match="no Pod name"):
            paths.new_writer(bad)


def test_numbers() -> None:
    assert paths.number_of("12.log", ".log") == 12
    for text in ("012.log", "12", "12.tmp", "-1.log", ".log", "1x.log", "٣.log"):
        assert paths.number_of(text, ".log") is None
