"""InferenceEndpointConfigs as users write them."""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]

SPEC: Json = {
    "modelName": "Qwen2-7B-Instruct",
    "endpointName": "",
    "instanceType": "ml.g6e.4xlarge",
    "replicas": 2,
    "modelSourceConfig": {
        "modelSourceType": "huggingface",
        "prefetchEnabled": True,
        "huggingFaceModel": {"modelId": "Qwen/Qwen2-7B-Instruct"},
    },
    "kvCacheSpec": {"enableL1Cache": True, "enableL2Cache": True, "l2CacheSpec": {"l2CacheBackend": "tieredstorage"}},
    "intelligentRoutingSpec": {"enabled": True, "routingStrategy": "prefixaware"},
    "worker": {
        "image": "example.com/vllm:0.11.1",
        "resources": {"requests": {"cpu": "8", "memory": "32Gi"}, "limits": {"nvidia.com/gpu": 1}},
        "modelInvocationPort": {"containerPort": 8000, "name": "http"},
        "modelVolumeMount": {"name": "model-weights", "mountPath": "/opt/ml/model"},
        "args": ["--model", "/opt/ml/model", "--max-model-len", "16384"],
        "environmentVariables": [
            {"name": "LMCACHE_REMOTE_SERDE", "value": "naive"},
            {"name": "PYTHONHASHSEED", "value": "0"},
        ],
    },
}
"""The example of AWS's blog, with its values."""


def iec(name: str = "qwen", namespace: str = "default", **changes: object) -> Json:
    """An IEC with these members of its spec, over SPEC; None takes one out."""
    spec = {**copy.deepcopy(SPEC), **changes}
    return {
        "apiVersion": "inference.sagemaker.aws.amazon.com/v1",
        "kind": "InferenceEndpointConfig",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": "11111111-2222-3333-4444-555555555555",
            "generation": 1,
        },
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def worker(**changes: object) -> Json:
    """SPEC's worker with other members."""
    return {**copy.deepcopy(SPEC["worker"]), **changes}


def variables(**values: str) -> list[Json]:
    """As environmentVariables."""
    return [{"name": name, "value": value} for name, value in values.items()]


def of_kind(objects: list[Json], kind: str, name: str) -> Json:
    """The one object of this kind and name."""
    (found,) = [each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def container(objects: list[Json], name: str, deployment: str = "qwen") -> Json:
    """A container of a Deployment."""
    spec = of_kind(objects, "Deployment", deployment)["spec"]["template"]["spec"]
    (found,) = [each for each in [*spec["containers"], *spec.get("initContainers", [])] if each["name"] == name]
    return dict(found)
