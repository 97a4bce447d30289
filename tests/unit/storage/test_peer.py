"""What is made of the API's answers about the other Pod, and of the Job's owner."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kubernetes import client

from emulators.apiserver import JsonServer
from emulators.cluster import FakeCluster
from tiered_kv_cache.cluster import ClusterError, KubernetesCluster
from tiered_kv_cache.storage import peer
from tiered_kv_cache.storage.peer import JobPods

Json = dict[str, Any]


def pod(index: int, phase: str, made: str = "2026-11-30T10:00:00Z", **status: Any) -> Json:
    return {
        "metadata": {
            "name": f"demo-storage-{index}-{made[14:16]}", "namespace": "kv", "creationTimestamp": made,
            "labels": {peer.LABEL_JOB: "demo-storage"}, "annotations": {peer.ANNOTATION_INDEX: str(index)},
        },
        "spec": {"nodeName": f"node-{index}"},
        "status": {"phase": phase} | status,
    }  # fmt: skip


def look(*pods: Json) -> peer.Peer:
    return JobPods(FakeCluster(list(pods)), "kv", "demo-storage", 1).look()


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}
PULLING = {"name": "storage-check", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
ENDED = {"name": "storage-check", "state": {"terminated": {"exitCode": 1, "message": "FAIL: read-only"}}}


@pytest.mark.parametrize(
    ("pods", "state", "why"),
    [
        ([], "absent", "it was not made yet"),
        ([pod(0, "Running")], "absent", "it was not made yet"),
        ([pod(1, "Pending", conditions=[UNSCHEDULABLE])], "absent", "Unschedulable: 0/2 nodes"),
        ([pod(1, "Pending", containerStatuses=[PULLING])], "absent", "ImagePullBackOff: no such image"),
        ([pod(1, "Running")], "running", ""),
        ([pod(1, "Succeeded")], "ended", ""),
        ([pod(1, "Failed", containerStatuses=[ENDED])], "failed", "FAIL: read-only"),
        ([pod(1, "Failed", made="2026-11-30T09:00:00Z"), pod(1, "Running")], "running", ""),
    ],
)
def test_states(pods: list[Json], state: str, why: str) -> None:
    found = look(*pods)
    assert (found.state, found.why) == (state, why)


def test_an_api_server_that_refuses_is_no_verdict() -> None:
    class Refuses(FakeCluster):
        def pods(self, namespace: str, selector: str) -> list[Json]:
            raise ClusterError("403 Forbidden")

    found = JobPods(Refuses([]), "kv", "demo-storage", 1).look()
    assert (found.state, found.why) == ("unknown", "403 Forbidden")


class Server(JsonServer):
    """A Pod, its ServiceAccount, and a Job that takes an owner."""

    def __init__(self) -> None:
        super().__init__()
        self.patched: list[tuple[str, Json]] = []

    def answer(self, method: str, path: str, body: Json | None) -> tuple[int, Json]:
        if method == "PATCH" and body is not None:
            self.patched.append((path, body))
            return 200, {}
        kind = re.search(r"/(pods|serviceaccounts)/", path)
        assert kind, path
        return 200, {"spec": {"serviceAccountName": "demo-storage"}, "metadata": {"uid": "u-1"}}


def test_the_job_goes_with_the_release() -> None:
    server = Server()
    try:
        cluster = KubernetesCluster(client.CoreV1Api(client.ApiClient(client.Configuration(host=server.url))))
        cluster.adopt_job("kv", "demo-storage", "demo-storage-0-x")
    finally:
        server.stop()
    ((path, body),) = server.patched
    assert path == "/apis/batch/v1/namespaces/kv/jobs/demo-storage"
    (owner,) = body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("ServiceAccount", "demo-storage", "u-1")
