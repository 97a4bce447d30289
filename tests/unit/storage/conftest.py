"""Real FUSE mounts, and two Pods' parts of the check over one volume or two."""

from __future__ import annotations

from faultfs.pytest_plugin import fault_fs, fault_fs_options, fuse

__all__ = ["fault_fs", "fault_fs_options", "fuse"]
