"""Pods as AWS's operator renders them, as far as was observed (docs/l2-patch.md). What is inferred says so."""

from __future__ import annotations

import copy
from typing import Any

from .model import Json

MODEL = "qwen2-7b-instruct"
IMAGE = "public.ecr.aws/deep-learning-containers/vllm:0.11.1-gpu-py312-cu129-ubuntu22.04-ec2-v1.0"
OPERATOR_URL = "sagemaker-hyperpod://$(NODE_IP):9200"
OPERATOR_EXTRA = '{"sagemaker_hyperpod_shared_memory_name": "ai_toolkit_cache"}'


def value(name: str, text: str) -> Json:
    """A plain entry of an environment."""
    return {"name": name, "value": text}


def field_ref(name: str, path: str) -> Json:
    """An entry that the kubelet fills from the Pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


OPERATOR_ENV: list[Json] = [
    value("OPTION_ROLLING_BATCH", "vllm"),
    value("SAGEMAKER_SUBMIT_DIRECTORY", "/opt/ml/model/code"),
    value("MODEL_CACHE_ROOT", "/opt/ml/model"),
    value("SAGEMAKER_MODEL_SERVER_WORKERS", "1"),
    value("SAGEMAKER_MODEL_SERVER_TIMEOUT", "3600"),
    value("LMCACHE_CONTROLLER_PULL_URL", f"{MODEL}-default-routing-service.hyperpod-inference-system.svc:9000"),
    value("LMCACHE_REMOTE_SERDE", "naive"),
    field_ref("NODE_IP", "status.hostIP"),
    value("LMCACHE_REMOTE_URL", OPERATOR_URL),
    value("LMCACHE_EXTRA_CONFIG", OPERATOR_EXTRA),
]
"""Order as observed; the places of NODE_IP and what follows are inferred."""
CONNECTOR = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
MP_CONNECTOR = '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both"}'


def kept_env() -> list[Json]:
    """What the patch leaves of the operator's environment."""
    return [each for each in copy.deepcopy(OPERATOR_ENV) if each["name"] not in OWNED]


OWNED = ("POD_NAME", "LMCACHE_REMOTE_URL", "LMCACHE_REMOTE_SERDE", "LMCACHE_EXTRA_CONFIG")


def v32(**worker: Any) -> Json:
    """Operator 3.2: three containers, LMCache in vLLM's process, and what this chart's InferenceEndpointConfig adds.

    Args:
        worker: keys of the worker to replace; None takes one out.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{MODEL}-7d4b9c-",
            "labels": {"app": MODEL, "deploying-service": "hyperpod-inference", "pod-template-hash": "7d4b9c"},
        },
        "spec": {
            "initContainers": [
                {
                    "name": f"prefetch-{MODEL}-inf",
                    "image": "example.com/hyperpod-inference-operator-init-container:v1.0",
                    "volumeMounts": [{"name": "model-weights", "mountPath": "/opt/ml/model"}],
                },
                root_init(),
            ],
            "containers": [
                _changed(
                    {
                        "name": MODEL,
                        "image": IMAGE,
                        "args": [
                            "--model",
                            "/opt/ml/model",
                            "--max-model-len",
                            "16384",
                            "--kv-transfer-config",
                            CONNECTOR,
                        ],
                        "ports": [{"name": "http", "containerPort": 8000}],
                        "env": copy.deepcopy(OPERATOR_ENV),
                        "resources": {"requests": {"cpu": "8", "memory": "32Gi"}, "limits": {"nvidia.com/gpu": "1"}},
                        "volumeMounts": [
                            {"name": "model-weights", "mountPath": "/opt/ml/model"},
                            {
                                "name": "host-shm",
                                "mountPath": "/dev/shm/ai_toolkit_cache",
                                "subPath": "ai_toolkit_cache",
                            },
                            {"name": "lmcache-config", "mountPath": "/etc/lmcache"},
                        ],
                    },
                    worker,
                ),
                {
                    "name": "sidecar-reverse-proxy",
                    "image": "example.com/nginx:1",
                    "ports": [{"containerPort": 8081}, {"containerPort": 9113}],
                    "env": [value("LMCACHE_REMOTE_URL", "not-the-worker's")],
                },
                {"name": "otel-collector", "image": "example.com/otel:1", "args": ["--config=/etc/otel/config.yaml"]},
            ],
            "volumes": [
                {"name": "model-weights", "emptyDir": {}},
                {"name": "host-shm", "hostPath": {"path": "/dev/shm", "type": "Directory"}},
                {"name": "lmcache-config", "configMap": {"name": f"{MODEL}-lmcache-config"}},
                {"name": "tkc-run", "emptyDir": {}},
            ],
        },
    }


def v37(*, server: Json | None = None, **worker: Any) -> Json:
    """Operator 3.7 with `lmcache.mode: MultiProcess`: LMCache in a container of its own. All of its shape is inferred.

    Args:
        server: keys of LMCache's container to replace; None takes one out.
        worker: as `v32`.
    """
    pod = v32()
    spec = pod["spec"]
    spec["initContainers"].append(code_init())
    spec["containers"][0] = _changed(
        {
            **spec["containers"][0],
            "args": ["--model", "/opt/ml/model", "--kv-transfer-config", MP_CONNECTOR],
            "env": [value("MODEL_CACHE_ROOT", "/opt/ml/model")],
        },
        worker,
    )
    spec["containers"].append(
        _changed(
            {
                "name": "lmcache-server",
                "image": IMAGE,
                "command": ["lmcache", "server"],
                "args": ["--port", "5555", "--l2-adapter", '{"type":"sagemaker-hyperpod"}', "--l1-size-gb", "10"],
                "env": [field_ref("NODE_IP", "status.hostIP")],
            },
            server or {},
        )
    )
    return pod


def root_init() -> Json:
    """This chart's init container that makes the link to the root."""
    return {
        "name": "tkc-l2-root",
        "image": "example.com/hooks:1",
        "volumeMounts": [{"name": "tkc-run", "mountPath": "/run/tkc"}],
    }


def code_init() -> Json:
    """This chart's init container that brings the adapter's code."""
    return {
        "name": "tkc-code",
        "image": "example.com/hooks:1",
        "volumeMounts": [{"name": "tkc-run", "mountPath": "/run/tkc"}],
    }


def without_init(pod: Json, *names: str) -> Json:
    """The Pod without those init containers."""
    inits = pod["spec"]["initContainers"]
    pod["spec"]["initContainers"] = [each for each in inits if each["name"] not in names]
    return pod


def spec(pod: Json, **keys: Any) -> Json:
    """The Pod with keys of its spec replaced; lists are added to."""
    for key, content in keys.items():
        there = pod["spec"].get(key)
        pod["spec"][key] = [*there, *content] if isinstance(there, list) else content
    return pod


def labels(pod: Json, **changed: str | None) -> Json:
    """The Pod with other labels; `_` stands for `-`, and None takes one out."""
    found = pod["metadata"]["labels"]
    for name, text in changed.items():
        found.pop(name.replace("_", "-"), None)
        if text is not None:
            found[name.replace("_", "-")] = text
    return pod


def _changed(container: Json, changes: Json) -> Json:
    return {key: content for key, content in {**container, **changes}.items() if content is not None}
