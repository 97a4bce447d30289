from __future__ import annotations

import pytest

from faultfs.globs import matches


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**", "", True),
        ("**", "a/b", True),
        ("*", "a", True),
        ("*", "", True),
        ("*", "a/b", False),
        ("objects/**", "objects/aa/bb/x.kv", True),
        ("objects/**", "objects", False),
        ("**/*.kv", "x.kv", True),
        ("**/*.kv", "a/b/x.kv", True),
        ("**/*.kv", "a/b/x.kvx", False),
        ("**/tmp/**", "v1/l/m/f/tmp/w/1.tmp", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab]x", "bx", True),
        ("[!ab]x", "bx", False),
        ("a.b", "axb", False),
        ("a\nb*", "a\nbc\n", True),
    ],
)
def test_glob(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected
