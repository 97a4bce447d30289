"""The end of a release with a pool: engines first, no dead mount on a node, and an install on the kept disks hits again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

from local_cluster.helm import Helm

from ..api import Api, wait_for
from .conftest import Install, Release
from .names import RELEASE
from .parts import Pool

COMPONENTS = ("engine", "curvine-client", "curvine-workers", "curvine-masters")


def _pods(api: Api, namespace: str, component: str) -> int:
    labels = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component={component}"
    return len(api.core.list_namespaced_pod(namespace, label_selector=labels).items)


def _watch(api: Api, namespace: str, seen: list[dict[str, int]], stop: threading.Event) -> None:
    while not stop.is_set():
        seen.append({component: _pods(api, namespace, component) for component in COMPONENTS})
        time.sleep(0.5)


def test_parts_end_in_order_and_no_mount_is_left(
    new_pool: Install, release: Release, pool: Pool, nodes: Callable[..., str], workers: list[str]
) -> None:
    api, helm, namespace = release.api, release.helm, release.helm.namespace
    new_pool()
    assert pool.pods("client")
    seen: list[dict[str, int]] = []
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(Api(helm.kubeconfig), namespace, seen, stop))
    watcher.start()
    done = helm.uninstall()
    stop.set()
    watcher.join(60)
    assert done.ok, done.text
    for now in seen:
        counts = [now[component] for component in COMPONENTS]
        for number, count in enumerate(counts):
            # While Pods of a part are there, those of the later ones have not been taken away.
            assert count == 0 or 0 not in counts[number + 1 :], now
    for node in workers:
        table = nodes(node, "cat", "/proc/self/mountinfo")
        left = [line for line in table.splitlines() if "/var/lib/tiered-kv-cache/" in line]
        assert left == [], node
    jobs = api.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs").json()["items"]
    assert not [job for job in jobs if job["metadata"]["name"].startswith(f"{RELEASE}-")]
    claims = api.core.list_namespaced_persistent_volume_claim(namespace).items
    assert any(claim.metadata.name.startswith(f"data-{RELEASE}-curvine-master") for claim in claims)


def test_another_releases_claim_is_named_and_nothing_is_deleted(
    release: Release, helm: Helm, api: Api, namespace: str
) -> None:
    release.apply(curvine={"linesOfBusiness": ["cards"]})
    directory = f"/var/lib/tiered-kv-cache/{namespace}.{RELEASE}/cards"
    name = f"{namespace}-cards-l2"
    claim = {"accessModes": ["ReadWriteMany"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    volume = {
        "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"}, "storageClassName": "",
        "claimRef": {"namespace": namespace, "name": "cards-l2"}, "hostPath": {"path": directory},
    }  # fmt: skip
    api.core.create_persistent_volume({"metadata": {"name": name}, "spec": volume})
    api.core.create_namespaced_persistent_volume_claim(
        namespace, {"metadata": {"name": "cards-l2"}, "spec": claim | {"volumeName": name}}
    )
    own = release.helm
    try:
        wait_for(
            "the claim bound",
            lambda: api.core.read_namespaced_persistent_volume_claim("cards-l2", namespace).status.phase == "Bound",
        )
        done = own.uninstall()
        assert not done.ok
        assert all(_pods(api, namespace, component) for component in COMPONENTS)
        labels = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=drain"
        (pod,) = api.core.list_namespaced_pod(namespace, label_selector=labels).items
        assert "claim cards-l2" in pod.status.container_statuses[0].state.terminated.message
        # The way back, as docs/pool.md has it.
        (*_, newest) = json.loads(own.call("history", RELEASE, "-o", "json").out)
        back = own.call("rollback", RELEASE, str(newest["revision"]))
        assert back.ok, back.text
        assert own.state() == "deployed"
    finally:
        api.core.delete_namespaced_persistent_volume_claim("cards-l2", namespace)
        api.core.delete_persistent_volume(name)
    assert own.uninstall().ok
