"""Pods, tiers, quotas and nodes of manifests."""

from __future__ import annotations

from typing import Any

import pytest

from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.plan import nodes
from tiered_kv_cache.plan.live import Live
from tiered_kv_cache.plan.plan import Plan, make
from tiered_kv_cache.plan.shape import Shape
from tiered_kv_cache.plan.tiers import Tier
from tiered_kv_cache.plan.workloads import Workload, workloads

from .release import GPU, QWEN2_7B, QWEN2_7B_BYTES, Json, engine, hook, keeper, meta, resources, router

GIB = 1 << 30
NODE = nodes.room("cpu=15,memory=120Gi,nvidia.com/gpu=1")


def plan(
    *objects: Json, weights: int = 0, gpu_memory: int | None = None, node: Any = None, config: Json | None = None
) -> Plan:
    shapes = {"m": Shape(QWEN2_7B if config is None else config, weights)}
    return make(list(objects), shapes, gpu_memory, node, Live(None, "nothing"))


def tiers(of: Plan) -> dict[str, Tier]:
    return {each.name: each for each in of.models[0].tiers}


def one(found: Json) -> Workload:
    (workload,) = workloads([found])
    return workload


def test_pods_and_what_they_ask_for() -> None:
    found = plan(engine(replicas=3, surge=2), router(), keeper(), hook())
    assert [(each.name, each.least, each.most, each.surge) for each in found.workloads] == [
        ("r-m-engine", 3, 3, 2),
        # A quarter, rounded up, where nothing is said.
        ("r-m-router", 1, 1, 1),
    ]
    assert found.workloads[0].instance_types == ("big",)
    assert found.total == {"cpu": 22, "memory": (3 * 102 + 1) * GIB, GPU: 3}
    assert found.rollout == {"cpu": 37, "memory": (5 * 102 + 2) * GIB, GPU: 5}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("ScaledObject", {"minReplicaCount": 2, "maxReplicaCount": 6}),
        ("HorizontalPodAutoscaler", {"minReplicas": 2, "maxReplicas": 6}),
    ],
)
def test_what_is_scaled_has_bounds(kind: str, spec: Json) -> None:
    target = {"scaleTargetRef": {"kind": "Deployment", "name": "r-m-engine"}}
    scaler = {"apiVersion": "x/v1", "kind": kind, "metadata": meta("s", "engine", "m"), "spec": {**target, **spec}}
    (found,) = plan(engine(), scaler).workloads
    assert (found.least, found.most) == (2, 6)


@pytest.mark.parametrize(("surge", "pods"), [("50%", 2), ("1%", 1), (3, 3)])
def test_surge(surge: int | str, pods: int) -> None:
    found = engine(replicas=3)
    found["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = surge
    assert one(found).surge == pods


def test_recreate_surges_not() -> None:
    found = engine()
    found["spec"]["strategy"] = {"type": "Recreate"}
    assert one(found).surge == 0


def test_tokens_of_each_tier() -> None:
    found = plan(engine(), keeper())
    assert found.models[0].token_bytes == QWEN2_7B_BYTES
    chunk = 256 * QWEN2_7B_BYTES
    of = tiers(found)
    # Whole chunks only.
    assert (of["L1"].bytes, of["L1"].tokens) == (40 * GIB, 40 * GIB // chunk * 256)
    assert (of["L2"].bytes, of["L2"].tokens) == (100 * GIB, 100 * GIB // chunk * 256)
    assert "shared by all models of retail" in of["L2"].note
    assert of["L0"].bytes is None


def test_a_model_with_a_quota_of_its_own() -> None:
    found = plan(engine(), keeper(m="20Gi"))
    assert tiers(found)["L2"] == Tier("L2", 20 * GIB, 20 * GIB // (256 * QWEN2_7B_BYTES) * 256)
    assert found.quotas[0].models == {"m": 20 * GIB}


def test_l0_of_gpus_needs_their_memory_and_the_weights() -> None:
    assert tiers(plan(engine(), gpu_memory=44 * GIB))["L0"].bytes is None
    assert "folder with the weights" in tiers(plan(engine(), gpu_memory=44 * GIB))["L0"].note
    l0 = tiers(plan(engine(ranks=2), gpu_memory=44 * GIB, weights=15 * GIB))["L0"]
    assert l0.bytes == int(44 * GIB * 9 // 10) * 2 - 15 * GIB
    assert l0.tokens == l0.bytes // QWEN2_7B_BYTES
    assert l0.note.startswith("at most")
    too_large = tiers(plan(engine(), gpu_memory=16 * GIB, weights=15 * GIB))["L0"]
    assert (too_large.tokens, too_large.note) == (0, "the weights alone take more than the GPUs have")


def test_l0_of_cpus_and_tiers_that_are_off() -> None:
    assert tiers(plan(engine(env={"VLLM_CPU_KVCACHE_SPACE": "2"}, ranks=2)))["L0"].bytes == 4 * GIB
    off = engine(args=("--no-enable-prefix-caching",))
    off["spec"]["template"]["spec"]["initContainers"] = []
    del off["spec"]["template"]["spec"]["containers"][1]
    assert {name: (each.bytes, each.note) for name, each in tiers(plan(off)).items()} == dict.fromkeys(
        ("L0", "L1", "L2"), (0, "off")
    )


def test_l1_in_vllms_own_process_is_of_each_rank() -> None:
    found = engine(ranks=2, env={"LMCACHE_LOCAL_CPU": "true", "LMCACHE_MAX_LOCAL_CPU_SIZE": "20"})
    del found["spec"]["template"]["spec"]["containers"][1]
    assert tiers(plan(found))["L1"].bytes == 40 * GIB


def test_l2_that_no_keeper_holds_has_no_bound() -> None:
    l2 = tiers(plan(engine()))["L2"]
    assert l2.bytes is None
    assert "no keeper" in l2.note


def test_without_a_shape_bytes_are_told_and_tokens_are_not() -> None:
    found = plan(engine(), keeper(), config={})
    assert found.models[0].token_bytes is None
    assert "no num_hidden_layers" in found.models[0].why
    assert (tiers(found)["L1"].bytes, tiers(found)["L1"].tokens) == (40 * GIB, None)


def test_an_endpoint_of_the_operator() -> None:
    worker = {
        "args": ["--max-model-len", "16384", "--tensor-parallel-size", "1", "--dtype", "auto"],
        "environmentVariables": [{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "8"}],
        "resources": resources(cpu="8", memory="32Gi", gpu="1"),
    }
    root = {
        "name": "tkc-l2-root",
        "args": ["l2-root", "--parent", "/mnt/kv/v1/retail/m"],
        "env": [{"name": "TKC_L2_CONFIG", "value": '{"chunkSize":512}'}],
    }
    endpoint = {
        "apiVersion": "inference.sagemaker.aws.amazon.com/v1",
        "kind": "InferenceEndpointConfig",
        "metadata": meta("r-m", "endpoint", "m"),
        "spec": {"replicas": 2, "instanceType": "ml.big", "worker": worker, "kubernetes": {"initContainers": [root]}},
    }
    found = plan(endpoint, keeper(), node=NODE)
    assert (found.workloads[0].least, found.workloads[0].surge) == (2, 1)
    assert found.workloads[0].instance_types == ("ml.big",)
    assert found.total == {"cpu": 16, "memory": 64 * GIB, GPU: 2}
    assert tiers(found)["L1"].tokens == 8 * GIB // (512 * QWEN2_7B_BYTES) * 512
    assert found.nodes
    assert (found.nodes.steady, found.nodes.rollout) == (2, 3)


def test_l1_of_an_operators_server_is_not_known() -> None:
    endpoint = {
        "apiVersion": "inference.sagemaker.aws.amazon.com/v1",
        "kind": "InferenceEndpointConfig",
        "metadata": meta("r-m", "endpoint", "m"),
        "spec": {"worker": {"args": ["--dtype", "auto"]}, "kvCacheSpec": {"enableL1Cache": True}},
    }
    assert tiers(plan(endpoint))["L1"].bytes is None
    endpoint["spec"]["kvCacheSpec"] = {"enableL1Cache": False}  # type: ignore[index]
    assert tiers(plan(endpoint))["L1"] == Tier("L1", 0, 0, "off")


def test_nodes() -> None:
    found = plan(engine(replicas=3, surge=2), router(), node=NODE)
    assert found.nodes == type(found.nodes)(3, 5, ())  # type: ignore[misc]
    # Routers go where there is room.
    assert plan(router(), router(), node=NODE).nodes.steady == 1  # type: ignore[union-attr]


def test_what_each_node_has_anyway_takes_room() -> None:
    daemons = {**router(), "kind": "DaemonSet"}
    daemons["spec"] = {
        **daemons["spec"],
        "template": {"spec": {"containers": [{"name": "w", "resources": resources(cpu="9")}]}},
    }
    found = plan(engine(), daemons, node=NODE)
    assert found.nodes
    assert found.nodes.steady == 0
    assert found.nodes.homeless == ("Deployment r-m-engine: too little cpu",)


@pytest.mark.parametrize("text", ["", "cpu", "cpu=x", "cpu=0", "cpu=1,memory", ","])
def test_what_is_no_node_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="Fix: write it like cpu=15"):
        nodes.room(text)
