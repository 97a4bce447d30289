"""Patterns over paths inside the mount, such as `objects/**/*.kv`."""

from __future__ import annotations

import functools
import re


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """`*` and `?` stay within one name, `**` crosses directories and may be empty, `[..]` as in a shell.

    Paths have no leading slash; the mount itself is the empty path, which only `**` matches.
    """
    out, rest = "", pattern
    while rest:
        if rest.startswith("**/"):
            out, rest = out + "(?:.*/)?", rest[3:]
        elif rest.startswith("**"):
            out, rest = out + ".*", rest[2:]
        elif rest[0] == "*":
            out, rest = out + "[^/]*", rest[1:]
        elif rest[0] == "?":
            out, rest = out + "[^/]", rest[1:]
        elif rest[0] == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            inner = rest[1:end].replace("\\", "\\\\")
            out, rest = out + "[" + ("^" + inner[1:] if inner[0] == "!" else inner) + "]", rest[end + 1 :]
        else:
            out, rest = out + re.escape(rest[0]), rest[1:]
    return re.compile(out, re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Whether the whole path fits the pattern."""
    return compiled(pattern).fullmatch(path) is not None
