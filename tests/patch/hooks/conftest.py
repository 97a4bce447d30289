"""The hooks against a real API server, as the ServiceAccounts that the chart gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kubernetes import client

from chart.helm import Helm, Manifests
from patch import apiserver
from scheduling.api import Api, Json
from scheduling.controlplane import ControlPlane
from tiered_kv_cache.cluster import KubernetesCluster

NAMESPACE, OTHER = "kv", "cards"
As = Callable[[Manifests, str], KubernetesCluster]


@pytest.fixture(scope="session")
def bare(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server of their own: what other tests install there would be found."""
    with apiserver.running(programs, tmp_path_factory.mktemp("hooks")) as (plane, _):
        apiserver.namespaces(plane.api, (NAMESPACE, OTHER))
        yield plane


@pytest.fixture(scope="session")
def helm(programs: Path) -> Helm:
    return Helm(str(programs / "helm"))


@pytest.fixture(scope="session")
def account(bare: ControlPlane) -> As:
    """A hook's way into the cluster: its account, roles and bindings as rendered, and nothing else."""

    def connect(manifests: Manifests, component: str) -> KubernetesCluster:
        kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
        rendered = [each for each in manifests.objects if each["kind"] in kinds and part_of(each) == component]
        for each in rendered:
            bare.api.apply(each)
        (name,) = [each["metadata"]["name"] for each in rendered if each["kind"] == "ServiceAccount"]
        asked = bare.api.create(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token", token_request())
        configuration = client.Configuration(host=bare.api.url)
        configuration.verify_ssl = False
        configuration.api_key = {"authorization": f"Bearer {asked['status']['token']}"}
        return KubernetesCluster(client.CoreV1Api(client.ApiClient(configuration)))

    return connect


def part_of(found: Json) -> str:
    return str(found["metadata"].get("labels", {}).get("app.kubernetes.io/component"))


def token_request() -> Json:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}


def node(api: Api, name: str, **change: object) -> None:
    """A node of four GPUs; only its entry exists."""
    labels = {"node.kubernetes.io/instance-type": "ml.g5.24xlarge", "kubernetes.io/arch": "amd64"}
    room = {"cpu": "96", "memory": "384Gi", "pods": "110", "ephemeral-storage": "1Ti", "nvidia.com/gpu": "4"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": labels}
    api.create(
        "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": change, "status": status}
    )
    # A new node is tainted until a controller that does not run here has seen it.
    api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": []}})
