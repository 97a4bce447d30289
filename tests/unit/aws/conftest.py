"""An account for each test."""

from __future__ import annotations

import pytest

from .account import Account


@pytest.fixture
def account() -> Account:
    """With an identity, and nothing else."""
    return Account()
