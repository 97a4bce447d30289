"""The storage check ran after the install: from both nodes, over the volume, with one table, and nothing is left of it."""

from __future__ import annotations

from local_cluster.helm import Helm
from local_cluster.settings import PLACES

from .api import Api

SELECTOR = "app.kubernetes.io/component=storage-check,app.kubernetes.io/instance={}"


def test_both_nodes_judged_it(release: Helm, api: Api) -> None:
    selector = SELECTOR.format(release.release)
    pods = api.core.list_namespaced_pod(release.namespace, label_selector=selector).items
    assert {pod.status.phase for pod in pods} == {"Succeeded"}
    assert len({pod.spec.node_name for pod in pods}) == 2
    for pod in pods:
        (status,) = pod.status.container_statuses
        assert status.state.terminated.message.startswith("storage-check: passed; ")
        log = api.core.read_namespaced_pod_log(pod.metadata.name, release.namespace)
        for one in pods:
            assert f"on node {one.spec.node_name}" in log
        (read,) = [line for line in log.splitlines() if line.startswith("read ")]
        assert read.count("first byte") == 2, "each read what the other one stored"
        assert "FAIL" not in log
    assert not (PLACES.state / "shared" / "l2" / "v1" / "test" / ".storage-check").exists()


def test_it_goes_with_the_release(release: Helm, api: Api) -> None:
    name = f"{release.release}-storage"
    path = f"/apis/batch/v1/namespaces/{release.namespace}/jobs/{name}"
    (owner,) = api.request("GET", path).json()["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("ServiceAccount", name)
