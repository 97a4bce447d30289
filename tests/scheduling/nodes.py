"""Nodes of eight GPUs each, in pools. Only their entries in the API exist; KWOK keeps them alive."""

from __future__ import annotations

from dataclasses import dataclass

from .api import Api, Json
from .processes import Processes

GPUS_PER_NODE = 8
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Pool:
    """Nodes of one instance type."""

    instance_type: str
    nodes: int


POOLS = {1: Pool("g6.48xlarge", 20), 2: Pool("g6e.48xlarge", 40), 4: Pool("p5.48xlarge", 40)}
"""GPUs that a Pod asks for -> the nodes for such Pods."""

NODES = sum(pool.nodes for pool in POOLS.values())
assert NODES == 100

MIXED = Pool("p4de.24xlarge", 20)
"""Further nodes, for Pods of all sizes."""


def node(name: str, instance_type: str) -> Json:
    """A node with room for many Pods."""
    room = {"cpu": "192", "memory": "2Ti", "ephemeral-storage": "2Ti", "pods": "110", GPU: str(GPUS_PER_NODE)}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": instance_type,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room, "capacity": room},
    }


def add_nodes(api: Api, processes: Processes) -> None:
    """Register the nodes and wait until all are Ready."""
    pools = [*POOLS.values(), MIXED]
    for pool in pools:
        for index in range(pool.nodes):
            api.create("/api/v1/nodes", node(f"{pool.instance_type.replace('.', '-')}-{index:02}", pool.instance_type))

    def ready() -> bool:
        conditions = [
            each for item in api.get("/api/v1/nodes")["items"] for each in item["status"].get("conditions", [])
        ]
        ready = [each for each in conditions if each["type"] == "Ready" and each["status"] == "True"]
        return len(ready) == sum(pool.nodes for pool in pools)

    processes.wait_for("nodes", ready, timeout_s=60)
