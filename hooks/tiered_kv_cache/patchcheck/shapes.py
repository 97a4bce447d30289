"""Pods in the shape that AWS's operator was seen to give them, and Pods that are not the operator's.

Observed of v3.2: three containers, labels, the variables of L2. Of the multi-process mode (operator 3.7 and newer) no rendering
was published: that shape is inferred from LMCache's own.
"""

from __future__ import annotations

import json

from ..cluster import JsonObject
from ..patch import names
from .config import Model, Place

IN_PROCESS, MULTI_PROCESS = "in-process", "multi-process"
SERVER = "lmcache"
OPERATOR_JSON = {"sagemaker_hyperpod_shared_memory_name": "ai_toolkit_cache"}
OPERATOR_URL = "sagemaker-hyperpod://$(NODE_IP):9200"
IMAGE = "registry.invalid/tkc-patch-check:never-pulled"
SIDECARS = ("sidecar-reverse-proxy", "otel-collector")
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "runAsUser": 10001,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def operator_pod(place: Place, model: Model, mode: str) -> JsonObject:
    """A worker's Pod of a model."""
    image = model.image or IMAGE
    worker = _container(place, model.name, image)
    if mode == IN_PROCESS:
        worker["args"] = [
            "/opt/ml/model",
            "--kv-transfer-config",
            '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}',
        ]
        # Twice, as where a value of the resource itself meets the operator's: the patch leaves one.
        worker["env"] = [
            {"name": "NODE_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.hostIP"}}},
            {"name": "LMCACHE_REMOTE_URL", "value": OPERATOR_URL},
            {"name": "LMCACHE_REMOTE_URL", "value": OPERATOR_URL},
            {"name": "LMCACHE_EXTRA_CONFIG", "value": json.dumps(OPERATOR_JSON)},
        ]
        containers = [worker]
    else:
        worker["args"] = [
            "/opt/ml/model",
            "--kv-transfer-config",
            '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both"}',
        ]
        server = _container(place, SERVER, image) | {"command": ["lmcache", "server"], "args": ["--chunk-size", "256"]}
        containers = [worker, server]
    containers += [_container(place, name, IMAGE) for name in SIDECARS]
    pod = _pod(place, f"tkc-patch-check-{mode}", _labels(model.name), containers)
    if not model.root:
        inits = [names.INIT_CODE] if mode == MULTI_PROCESS and place.adapter == "guarded" else []
        pod["spec"]["initContainers"] = [
            _container(place, name, IMAGE) | {"volumeMounts": [{"name": names.VOLUME_RUN, "mountPath": names.RUN_PATH}]}
            for name in (*inits, names.INIT_ROOT)
        ]
        pod["spec"]["volumes"] = [{"name": names.VOLUME_RUN, "emptyDir": {}}]
    return pod


def foreign_pods(place: Place) -> dict[str, JsonObject]:
    """Pods that the patch has no business with, by what they are."""
    model = place.tried()[0]
    worker = operator_pod(place, model, IN_PROCESS)
    plain = json.loads(json.dumps(worker))
    plain["metadata"] = worker["metadata"] | {
        "labels": {names.LABEL_MODEL: model.name},
        "name": "tkc-patch-check-plain",
    }
    found = {"a Pod without the operator's label": plain}
    if not place.every:
        other = json.loads(json.dumps(worker))
        other["metadata"] = worker["metadata"] | {
            "labels": _labels("tkc-patch-check-none"),
            "name": "tkc-patch-check-other",
        }
        found["a Pod of a model that is not named"] = other
    return found


def _labels(app: str) -> dict[str, str]:
    return {names.LABEL_MODEL: app, names.LABEL_OPERATOR[0]: names.LABEL_OPERATOR[1]}


def _container(place: Place, name: str, image: str) -> JsonObject:
    return {"name": name, "image": image, "resources": place.resources, "securityContext": RESTRICTED}


def _pod(place: Place, name: str, labels: dict[str, str], containers: list[JsonObject]) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": place.namespace, "labels": labels},
        "spec": {"automountServiceAccountToken": False, "enableServiceLinks": False, "containers": containers},
    }
