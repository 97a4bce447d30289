"""A node is drained: its Pods go one by one, and no model loses its last one."""

from __future__ import annotations

import time

from .controlplane import ControlPlane
from .releases import LINES, REPLICAS
from .state import State, ready


def _evict(cluster: ControlPlane, pod: dict[str, object]) -> tuple[int, str]:
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    place = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
    return cluster.api.refusal(
        place, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": metadata["name"]}}
    )


def test_the_second_pod_of_a_model_is_not_given_up(full: State, cluster: ControlPlane) -> None:
    model = (LINES[1], "model-0")
    first, second = full.of(model)
    assert _evict(cluster, first)[0] == 201
    status, message = _evict(cluster, second)
    assert status == 429
    assert "disruption budget" in message
    full.wait_rolled_out("the evicted Pod's successor")


def test_a_node_is_drained(full: State, cluster: ControlPlane) -> None:
    """Another line has made room; without it nothing could go anywhere, with or without a budget."""
    for name in [name for line, name in full.deployments if line == LINES[-1]]:
        cluster.api.delete(f"/apis/apps/v1/namespaces/{LINES[-1]}/deployments/{LINES[-1]}-{name}-engine")
    full.wait("room", lambda: not [pod for pod in full.pods.values() if pod["metadata"]["namespace"] == LINES[-1]], 60)
    # A node of the smallest Pods, the most of them.
    node = full.of((LINES[0], "model-0"))[0]["spec"]["nodeName"]
    cluster.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    full.mark()

    def there() -> list[dict[str, object]]:
        return [pod for pod in list(full.pods.values()) if pod["spec"].get("nodeName") == node]

    assert len(there()) >= 2
    deadline = time.monotonic() + 120
    while there():
        assert time.monotonic() < deadline, f"still on {node}: {len(there())}"
        for pod in there():
            status, message = _evict(cluster, pod)
            assert status in (201, 404, 429), message
        time.sleep(0.5)
    full.wait_rolled_out("all models whole again")
    assert min(full.fewest.values()) >= REPLICAS - 1
    cluster.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": None}})
    assert all(ready(pod) for pod in full.pods.values())
