"""An API server for claims, events and Pods; and real FUSE mounts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from faultfs.pytest_plugin import fault_fs, fault_fs_options, fuse

from .server import PoolServer

__all__ = ["fault_fs", "fault_fs_options", "fuse"]

# Tests never assert times, not even that an example is quick.
settings.register_profile("pool", deadline=None)
settings.load_profile("pool")


@pytest.fixture
def server() -> Iterator[PoolServer]:
    made = PoolServer()
    yield made
    made.stop()
