"""Names, versions and places: the one module to look at when something must move."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]

CLUSTER = "tiered-kv-cache"
"""Name of the kind cluster. One a machine: two clones share it, and a lock keeps their runs apart."""

KUBERNETES_VERSION = "v1.36.3"
"""Version of the node image, pulled or built; tools/go/go.mod pins the same one."""

NODES = ("control-plane", "worker", "worker")

RELEASE = "demo"
NAMESPACE = "tiered-kv-cache"

NODE_SHARED = "/mnt/tkc-shared"
"""Directory that every node mounts from the host: the L2 pool and the demo's models live below it."""

API_PORT = 16443
URL_PORT = 8080
NODE_PORT = 30080

MIN_FREE_DISK_GB = 20
"""For a first run; measured: 12 GB of caches, 2 GB of cluster, the rest for what builds need on their way."""

MIN_FREE_DISK_WARM_GB = 6
"""With filled caches."""

MIN_MEMORY_GB = 12


@dataclass(frozen=True)
class Places:
    """Where files live. Caches stay after `make down`; state goes with the cluster."""

    cache: Path = field(
        default_factory=lambda: (
            Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "tiered-kv-cache"
        )
    )

    @property
    def bin(self) -> Path:
        """Programs built from Go modules, one folder per version of tools/go."""
        return self.cache / "bin"

    @property
    def logs(self) -> Path:
        return self.cache / "logs"

    @property
    def images(self) -> Path:
        """Saved container images, one archive per content hash."""
        return self.cache / "images"

    @property
    def models(self) -> Path:
        """The demo's and the tests' model folders."""
        return self.cache / "models"

    @property
    def engine(self) -> Path:
        """podman's own storage and settings, apart from any other podman of this machine."""
        return self.cache / "podman"

    @property
    def state(self) -> Path:
        """What belongs to the running cluster; removed by `make down`."""
        return self.cache / "state"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def lock(self) -> Path:
        return self.cache / "lock"


PLACES = Places()
