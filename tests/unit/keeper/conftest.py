"""A fresh volume for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from .volume import Volume

# Tests never assert times, not even that an example is quick.
settings.register_profile("keeper", deadline=None)
settings.load_profile("keeper")


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path / "mount")
