"""The configuration that kind gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_cluster.providers import kind_config
from local_cluster.settings import NODES


def _config(isolated: bool, stores: bool) -> dict[str, Any]:
    return dict(
        kind_config.config(
            api_port=16443, url_port=8080, node_port=30080, isolated=isolated, shared=Path("/s"), models=Path("/m"),
            images=Path("/i"), stores=[Path(f"/n{i}") for i in range(len(NODES))] if stores else [], in_node=("/shared", "/images"),
        )
    )  # fmt: skip


@pytest.mark.parametrize("isolated", [True, False])
def test_every_node_shares_one_directory_and_has_its_own_store(isolated: bool) -> None:
    nodes = _config(isolated, stores=True)["nodes"]
    mounts = [{m["containerPath"]: m for m in node["extraMounts"]} for node in nodes]
    assert {node["role"] for node in nodes} == {"control-plane", "worker"}
    assert {m["/shared"]["hostPath"] for m in mounts} == {"/s"}
    assert all(m["/shared/models"]["readOnly"] for m in mounts)
    assert len({m["/var/lib/containerd"]["hostPath"] for m in mounts}) == len(NODES)


def test_a_pulled_node_image_keeps_its_own_store() -> None:
    nodes = _config(isolated=False, stores=False)["nodes"]
    assert all(m["containerPath"] != "/var/lib/containerd" for node in nodes for m in node["extraMounts"])


def test_ports_are_local_only() -> None:
    config = _config(isolated=True, stores=True)
    assert config["networking"]["apiServerAddress"] == "127.0.0.1"
    (mapping,) = [m for node in config["nodes"] for m in node.get("extraPortMappings", [])]
    assert mapping == {"containerPort": 30080, "hostPort": 8080, "listenAddress": "127.0.0.1"}
