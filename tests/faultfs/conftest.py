"""A fault filesystem for each test."""

from faultfs.pytest_plugin import fault_fs, fault_fs_options, fuse

__all__ = ["fault_fs", "fault_fs_options", "fuse"]
