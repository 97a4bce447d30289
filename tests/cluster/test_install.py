"""A release is installed, `helm test` proves its tiers, and the numbers are what the arithmetic says."""

from __future__ import annotations

from pytest_helm_charts.clusters import Cluster
from pytest_helm_charts.k8s.deployment import wait_for_deployments_to_run

from local_cluster.helm import Helm

from .api import Api
from .conftest import MODEL

CHUNK = 256
PROMPT = 1900


def test_deployments_run(release: Helm, kube_cluster: Cluster) -> None:
    names = [f"{release.release}-{MODEL}-{part}" for part in ("engine", "router")]
    deployments = wait_for_deployments_to_run(kube_cluster.kube_client, names, release.namespace, 60)
    assert [int(deployment.obj["status"]["readyReplicas"]) for deployment in deployments] == [2, 1]


def test_pods_are_spread_over_nodes(release: Helm, api: Api) -> None:
    pods = api.engine_pods(release.namespace, release.release)
    assert len(pods) == 2
    assert len({pod.spec.node_name for pod in pods}) == 2
    assert sum(status.restart_count for pod in pods for status in pod.status.container_statuses) == 0


def test_helm_test_proves_the_cross_pod_hit(release: Helm, api: Api) -> None:
    done = release.test()
    assert done.ok, done.text
    result = api.verify_result(release.namespace, release.release)
    (model,) = result["models"]
    tiers = {row["tier"]: row for row in model["tiers"]}
    full_chunks = PROMPT // CHUNK * CHUNK
    assert model["model"] == MODEL
    assert model["promptTokens"] == PROMPT
    assert tiers["cold"]["hitTokens"] == {"l0": 0, "l1": 0, "l2": 0}
    assert tiers["l2"]["hitTokens"] == {"l0": 0, "l1": 0, "l2": full_chunks}
    assert tiers["l1"]["hitTokens"] == {"l0": 0, "l1": full_chunks, "l2": 0}
    assert tiers["l0"]["hitTokens"]["l0"] > 0
    assert tiers["cold"]["pod"] != tiers["l2"]["pod"]
    assert tiers["cold"]["node"] != tiers["l2"]["node"]


def test_fingerprint_is_the_same_in_all_pods(release: Helm, api: Api) -> None:
    roots = [api.l2_root(pod) for pod in api.engine_pods(release.namespace, release.release)]
    assert len(roots) == 2
    assert len({root["fingerprint"] for root in roots}) == 1
    assert {root["root"] for root in roots} == {f"/mnt/kv-l2/v1/test/{MODEL}/{roots[0]['fingerprint']}"}
