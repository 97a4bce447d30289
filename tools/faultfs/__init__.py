"""A passthrough FUSE filesystem whose faults are switched at run time: `python -m faultfs MOUNT BACKING --control SOCKET`.

Tests import `faultfs.client` and `faultfs.daemon`; only the mounted process itself loads libfuse.
"""
