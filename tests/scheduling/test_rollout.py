"""A full cluster is upgraded: no spare GPU, no deadlock, never more than one Pod of a model away."""

from __future__ import annotations

import time
from collections import Counter

from chart.helm import Json

from .api import Watch
from .controlplane import ControlPlane
from .nodes import GPU, GPUS_PER_NODE, MIXED, NODES
from .releases import LINES, MIXED_LINES, REPLICAS, SIZES, Releases, model, values
from .state import State, ready

TOTAL = NODES * GPUS_PER_NODE
MODELS = len(LINES) * len(SIZES)


def _version(pod: Json, version: str) -> bool:
    return any(
        each.get("name") == "VERSION" and each.get("value") == version
        for container in pod["spec"]["containers"]
        for each in container.get("env", [])
    )


def test_every_gpu_is_taken(full: State) -> None:
    assert len(full.deployments) == MODELS
    assert full.free_gpus(TOTAL) == 0


def test_pods_of_a_model_are_on_different_nodes(full: State) -> None:
    nodes = {m: {pod["spec"]["nodeName"] for pod in full.of(m)} for m in full.deployments}
    together = [m for m, found in nodes.items() if len(found) < REPLICAS]
    # The constraint is soft, so that it never costs a GPU: the last Pods of a pool take what is left.
    assert len(together) <= MODELS // 20, together


def test_an_upgrade_of_everything_at_once_needs_no_spare_gpu(full: State, releases: Releases) -> None:
    full.mark()
    releases.upgrade(LINES, {"VERSION": "2"})
    full.wait("upgrade begins", lambda: len(full.unfinished()) > 0, 60)
    full.wait_rolled_out("upgrade")
    assert Counter(full.fewest.values()) == {REPLICAS - 1: MODELS}
    assert all(_version(pod, "2") for pod in full.pods.values())
    assert full.free_gpus(TOTAL) == 0


def test_a_surge_waits_for_a_gpu_that_nobody_gives(full: State, releases: Releases, cluster: ControlPlane) -> None:
    """Why maxSurge is 0: with 1 the new Pod stays without a node, and the upgrade never moves."""
    line, name = LINES[0], "model-8"
    full.mark()
    surge = model(
        8, rollout={"maxSurge": 1, "maxUnavailable": 0}, engine={"tensorParallelSize": 4, "env": {"SURGE": "1"}}
    )
    releases.one(line, values(line, {"VERSION": "2"}, **{name: surge}))

    def refused() -> bool:
        return any(
            each["type"] == "PodScheduled" and f"Insufficient {GPU}" in each.get("message", "")
            for pod in full.of((line, name))
            for each in pod["status"].get("conditions", [])
        )

    full.wait("a Pod without a node", refused, 60)
    time.sleep(5)
    assert refused()
    assert len([pod for pod in full.of((line, name)) if ready(pod)]) == REPLICAS
    assert full.unfinished() == [(line, name)]
    releases.one(line, values(line, {"VERSION": "2"}))
    full.wait_rolled_out("back to the default")
    assert full.fewest[line, name] >= REPLICAS - 1


def test_sizes_that_share_nodes_need_classes(cluster: ControlPlane, releases: Releases) -> None:
    """Without pools a small Pod may take a part of a large one's place, which then fits nowhere although enough GPUs are
    free: at the first install as well as in upgrades. Where larger Pods have a higher priority, the scheduler makes room
    for them again."""
    models = {}
    for index, size in enumerate(SIZES):
        models[f"model-{index}"] = model(index, instanceTypes=[MIXED.instance_type], priorityClassName=f"gpus-{size}")
    for size in set(SIZES):
        content = {"metadata": {"name": f"gpus-{size}"}, "value": size}
        cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", content)
    state = State(MIXED_LINES)
    releases.namespaces(MIXED_LINES)
    with (
        Watch(cluster.api, "/api/v1/pods", state.pod),
        Watch(cluster.api, "/apis/apps/v1/deployments", state.deployment),
    ):
        for version in ("1", "2", "3"):
            releases.upgrade(MIXED_LINES, {"VERSION": version}, **models)
            state.wait("begins", lambda: len(state.unfinished()) > 0, 60)
            state.wait("all known", lambda: len(state.deployments) == len(MIXED_LINES) * len(SIZES), 60)
            state.wait_rolled_out(f"version {version} without pools")
            assert state.free_gpus(MIXED.nodes * GPUS_PER_NODE) == 0
            assert all(_version(pod, version) for pod in state.pods.values())
