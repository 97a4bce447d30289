"""Manifests of a small release, as the chart renders them (shortened)."""

from __future__ import annotations

import json
from typing import Any

import yaml

Json = dict[str, Any]
GPU = "nvidia.com/gpu"

QWEN2_7B: Json = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "torch_dtype": "bfloat16",
}
"""Of Qwen/Qwen2-7B-Instruct, what counts: 28 layers, keys and values of 4 heads of 128, 2 bytes each: 57,344 bytes a token."""
QWEN2_7B_BYTES = 57344


def meta(name: str, component: str, model: str = "", **more: Any) -> Json:
    labels = {"app.kubernetes.io/component": component}
    if model:
        labels["tiered-kv-cache.io/model"] = model
    return {"name": name, "namespace": "retail", "labels": labels, **more}


def resources(**amounts: str) -> Json:
    """Requests and limits alike; ``gpu`` is NVIDIA's."""
    found = {GPU if name == "gpu" else name: value for name, value in amounts.items()}
    return {"requests": dict(found), "limits": dict(found)}


def engine(
    replicas: int = 2,
    *,
    surge: int = 0,
    ranks: int = 1,
    args: tuple[str, ...] = (),
    env: Json | None = None,
    model: str = "m",
) -> Json:
    """A Deployment of engines with LMCache's server (L1 40 GiB, chunks of 256) and L2."""
    vllm = {
        "name": "vllm",
        "args": [
            "/models/m", "--dtype", "bfloat16", "--max-model-len", "16384", "--kv-cache-dtype", "auto",
            "--gpu-memory-utilization", "0.9", "--tensor-parallel-size", str(ranks), *args,
        ],
        "env": [{"name": name, "value": value} for name, value in (env or {}).items()],
        "resources": resources(cpu="6", memory="60Gi", gpu=str(ranks)),
    }  # fmt: skip
    lmcache = {
        "name": "lmcache",
        "args": ["--chunk-size", "256", "--l1-size-gb", "40"],
        "resources": resources(cpu="1", memory="42Gi"),
    }
    root = {"name": "l2-root", "args": ["l2-root", "--parent", f"/mnt/kv-l2/v1/retail/{model}"]}
    affinity = {"matchExpressions": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["big"]}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(f"r-{model}-engine", "engine", model),
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}},
            "template": {
                "metadata": {"annotations": {"tiered-kv-cache.io/config-hash": "0123"}},
                "spec": {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [affinity]}
                        }
                    },
                    "initContainers": [root],
                    "containers": [vllm, lmcache],
                },
            },
        },
    }


def router() -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta("r-m-router", "router", "m"),
        "spec": {
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "router", "resources": resources(cpu="1", memory="1Gi")}]}},
        },
    }


def keeper(**models: str) -> Json:
    """Its configuration: 100Gi for the line of business, and of models what is given."""
    config = {"linesOfBusiness": {"retail": {"quota": "100Gi", "models": {k: {"quota": v} for k, v in models.items()}}}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta("r-keeper-0", "keeper"),
        "data": {"config.json": json.dumps(config)},
    }


def hook() -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta("r-storage", "storage-check", annotations={"helm.sh/hook": "post-install"}),
        "spec": {"template": {"spec": {"containers": [{"name": "c", "resources": resources(cpu="64")}]}}},
    }


def text(*objects: Json) -> str:
    """As helm template prints them."""
    return "".join(f"---\n# Source: x\n{yaml.safe_dump(each)}" for each in objects)
