"""The fixture for other suites: `from faultfs.pytest_plugin import fault_fs, fault_fs_options, fuse` in a conftest.py."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cluster.host import packages
from local_cluster.problem import Problem

from . import prerequisites
from .daemon import FaultFs


@pytest.fixture(scope="session")
def fuse() -> None:
    """FUSE works here: its package is installed where it lacks. A machine without it fails the tests, it does not skip them."""
    # Test processes side by side: apt-get runs once.
    with (Path(tempfile.gettempdir()) / "tiered-kv-cache-fuse.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            packages.ensure(
                {prerequisites.PACKAGE: "fusermount3"}, "the fault filesystem of the tests is a FUSE filesystem"
            )
        except Problem as problem:
            pytest.fail(str(problem), pytrace=False)
    if found := prerequisites.missing():
        pytest.fail("\n".join(found), pytrace=False)


@pytest.fixture
def fault_fs_options() -> tuple[str, ...]:
    """More of the command line, such as `--direct-io`; override it, or parametrize it indirectly."""
    return ()


@pytest.fixture
def fault_fs(fuse: None, tmp_path: Path, fault_fs_options: tuple[str, ...]) -> Iterator[FaultFs]:
    """A fault filesystem with its mount and its backing directory below `tmp_path`, without faults."""
    with FaultFs(tmp_path, *fault_fs_options) as running:
        yield running
