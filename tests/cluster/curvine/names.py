"""What the pool's release and its places are called."""

from __future__ import annotations

DISK = "/var/lib/tkc-test-disk"
"""On each node: a volume of its own lies at /var there."""
LINE = "test"
"""The release's line of business, as in values/tiny.yaml."""
SIZE = "2Gi"
"""Of a worker's disk, and of the quota: half of the pool."""
RELEASE = "pool"
CLAIM = f"data-{RELEASE}-curvine-master-"
"""A master's claim, without its number."""
