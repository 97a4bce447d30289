"""Options of all tests."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """--update-golden rewrites the golden folders; review the difference before you commit it."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden manifests")
