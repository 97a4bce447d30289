"""`--runs`: how many runs with kills; `--first-seed`: of the first one."""

import pytest

from faultfs.pytest_plugin import fault_fs, fault_fs_options, fuse

__all__ = ["fault_fs", "fault_fs_options", "fuse"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--runs", type=int, default=12, help="runs with kill -9 and faults (tests/l2faults)")
    parser.addoption("--first-seed", type=int, default=0, help="seed of the first run")
