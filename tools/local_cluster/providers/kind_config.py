"""The configuration that kind gets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..settings import NODES


def config(
    *,
    api_port: int,
    url_port: int,
    node_port: int,
    isolated: bool,
    shared: Path,
    models: Path,
    images: Path,
    stores: Sequence[Path],
    in_node: tuple[str, str],
) -> dict[str, object]:
    """kind's Cluster object.

    Args:
        api_port: local port of the API server.
        url_port: local port of `node_port`, the demo's Service.
        isolated: the nodes have no upstream name server, so Pods must not search podman's domain (5 s time-outs).
        shared: directory of the machine that every node mounts: on it, the L2 pool.
        models: directory of the model folders, read-only in the nodes.
        images: directory of the image archives, read-only in the nodes.
        stores: one prepared image store a node; empty where the node image brings its own.
        in_node: where `shared` and `images` are in the nodes.
    """
    shared_at, images_at = in_node
    mounts: list[dict[str, object]] = [
        {"hostPath": str(shared), "containerPath": shared_at},
        {"hostPath": str(models), "containerPath": f"{shared_at}/models", "readOnly": True},
        {"hostPath": str(images), "containerPath": images_at, "readOnly": True},
    ]
    nodes: list[dict[str, object]] = []
    for index, role in enumerate(NODES):
        store = [{"hostPath": str(stores[index]), "containerPath": "/var/lib/containerd"}] if stores else []
        nodes.append({"role": role, "extraMounts": [*mounts, *store]})
    nodes[0]["extraPortMappings"] = [{"containerPort": node_port, "hostPort": url_port, "listenAddress": "127.0.0.1"}]
    networking: dict[str, object] = {"ipFamily": "ipv4", "apiServerAddress": "127.0.0.1", "apiServerPort": api_port}
    if isolated:
        networking |= {"kubeProxyMode": "iptables", "dnsSearch": []}
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": networking,
        "nodes": nodes,
        "kubeadmConfigPatches": [_KUBELET, _CLUSTER],
    }


# Control groups v1 are deprecated, yet many small machines still have them. The short node time-outs let the tests see
# a lost node within seconds instead of minutes.
_KUBELET = """\
kind: KubeletConfiguration
failCgroupV1: false
nodeStatusUpdateFrequency: 3s
nodeLeaseDurationSeconds: 8
"""
_CLUSTER = """\
kind: ClusterConfiguration
controllerManager:
  extraArgs:
  - {name: node-monitor-grace-period, value: 12s}
  - {name: node-monitor-period, value: 2s}
apiServer:
  extraArgs:
  - {name: default-not-ready-toleration-seconds, value: "5"}
  - {name: default-unreachable-toleration-seconds, value: "5"}
"""
