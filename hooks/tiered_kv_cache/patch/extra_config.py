"""`LMCACHE_EXTRA_CONFIG`: one member is ours, the others stay byte by byte.

The policy's language reads no JSON, so both mechanisms go by the same regular expressions (in RE2's syntax), and refuse what
these do not match.
"""

from __future__ import annotations

import re

from . import names

MEMBER = "fs_connector_relative_tmp_dir"
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""What CEL's trim takes away."""

_W = r"[ \t\n\r]*"
_TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_NAME = r'"[^"\\\x00-\x1f]*"'
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_SCALAR = rf"(?:{_TEXT}|{_NUMBER}|true|false|null)"
_LIST = rf"\[{_W}(?:{_SCALAR}{_W}(?:,{_W}{_SCALAR}{_W})*)?\]"
_PAIR = rf"{_NAME}{_W}:{_W}"
_FLAT = rf"\{{{_W}(?:{_PAIR}{_SCALAR}{_W}(?:,{_W}{_PAIR}{_SCALAR}{_W})*)?\}}"
_VALUE = rf"(?:{_SCALAR}|{_LIST}|{_FLAT})"
OBJECT = rf"^\{{{_W}(?:{_PAIR}{_VALUE}{_W}(?:,{_W}{_PAIR}{_VALUE}{_W})*)?\}}$"
"""An object that the patch can read: names without escapes; values are scalars, or lists or objects of scalars."""
OURS = rf'"{MEMBER}"{_W}:'
"""The member's name, wherever it stands: inside a text its quotes would be escaped."""
OURS_TEXT = rf"{OURS}{_W}{_TEXT}"
OURS_TOP = rf"^\{{{_W}(?:{_PAIR}{_VALUE}{_W},{_W})*{OURS_TEXT}{_W}[,}}]"
"""An object that has the member itself, with a text value."""

_OBJECT = re.compile(OBJECT)
_OURS = re.compile(OURS)
_OURS_TEXT = re.compile(OURS_TEXT)
_OURS_TOP = re.compile(OURS_TOP)


def merge(text: str | None) -> str:
    """The text with our member. Raises ValueError: what is wrong with the text."""
    member = f'"{MEMBER}": "{names.TMP_DIR}"'
    text = (text or "").strip(WHITE)
    if not text:
        return f"{{{member}}}"
    if not _OBJECT.search(text):
        raise ValueError("is not a JSON object whose members are scalars, or lists or objects of scalars")
    count = len(_OURS.findall(text))
    if not count:
        inner = text[1:-1].strip(WHITE)
        return f"{text[:-1]}{', ' if inner else ''}{member}}}"
    if count > 1 or not _OURS_TOP.search(text):
        raise ValueError(f"has {MEMBER} more than once, in an inner object, or with a value that is no text")
    found = _OURS_TEXT.search(text)
    assert found
    return f"{text[: found.start()]}{member}{text[found.end() :]}"
