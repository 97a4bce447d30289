"""A node for each test, and the shells that the script has to run in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faultfs.pytest_plugin import fuse

from .node import Node

__all__ = ["fuse"]

SHELLS = ["dash", "bash --posix"]
"""Debian's sh, and what Rocky's sh is."""


@pytest.fixture
def shell() -> str:
    return SHELLS[0]


@pytest.fixture
def node(fuse: None, tmp_path: Path, shell: str) -> Iterator[Node]:
    """A node without a supervisor. At the test's end nothing may lie on its disk below a place where the pool belongs."""
    with Node(tmp_path, shell) as made:
        yield made
        made.stop()
        assert made.beside_the_pool() == []
