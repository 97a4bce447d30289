"""The Pod template of a worker: containers, weights, volumes, placement."""

from __future__ import annotations

import copy

from . import containers
from .env import caches
from .names import Names
from .options import Json, Mode, Options
from .overrides import override_pod

RESERVED = "model-weights-copy"
"""A volume name that users may not take (observed)."""


class Refused(Exception):
    """What the operator shows as a condition of the IEC instead of rendering it.

    Args:
        reason: of the condition.
        message: for people.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def template(iec: Json, options: Options) -> Json:
    """The Pod template.

    Raises:
        Refused: the IEC asks for what the operator does not do.
    """
    mode, kubernetes = options.mode_of(iec), iec["spec"].get("kubernetes") or {}
    _check(iec, kubernetes)
    inits = [*_prefetch(iec, options), *copy.deepcopy(kubernetes.get("initContainers") or [])]
    running = [containers.worker(iec, options, mode), *containers.side(iec, options)]
    if mode == "MultiProcess" and any(caches(iec)):
        lmcache = containers.server(iec, options)
        if "native-sidecar" in options.variants:
            inits.append(lmcache)
        else:
            running.append(lmcache)
    spec: Json = {"containers": running, "volumes": _volumes(iec, mode, kubernetes)}
    if inits:
        spec["initContainers"] = inits
    for key in ("schedulerName", "serviceAccountName", "tolerations", "priorityClassName"):
        if kubernetes.get(key):
            spec[key] = kubernetes[key]
    if affinity := _affinity(iec):
        spec["affinity"] = {"nodeAffinity": affinity}
    metadata: Json = {"labels": Names(iec).pod_labels}
    if annotations := kubernetes.get("podTemplateAnnotations"):
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": override_pod(spec, Names(iec).iec, options.overrides)}


def _check(iec: Json, kubernetes: Json) -> None:
    """What the operator refuses (observed)."""
    names = [each["name"] for each in kubernetes.get("volumes") or []]
    wanted = iec["spec"]["worker"]["modelVolumeMount"]["name"]
    failed = "KubernetesVolumeValidationFailed"
    if iec["spec"]["modelSourceConfig"]["modelSourceType"] == "kubernetesVolume" and wanted not in names:
        raise Refused(failed, f"kubernetes.volumes has no {wanted!r}, which worker.modelVolumeMount names")
    if RESERVED in names:
        raise Refused(failed, f"kubernetes.volumes: the name {RESERVED!r} is reserved")


def _prefetch(iec: Json, options: Options) -> list[Json]:
    """The init container that downloads weights: its name is observed, the rest is inferred."""
    source = iec["spec"]["modelSourceConfig"]
    kind = source["modelSourceType"]
    if kind != "huggingface" and not (kind == "s3" and source.get("prefetchEnabled")):
        return []
    mount = iec["spec"]["worker"]["modelVolumeMount"]
    path = mount.get("mountPath") or "/opt/ml/model"
    model = source.get("huggingFaceModel") or source.get("s3Storage") or {}
    env: list[Json] = [
        {"name": "MODEL", "value": model.get("modelId") or model.get("bucketName", "")},
        {"name": "MODEL_PATH", "value": path},
    ]
    if token := model.get("tokenSecretRef"):
        env.append({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": dict(token)}})
    return [
        {
            "name": f"prefetch-{Names(iec).iec}-inf",
            "image": options.images.prefetch,
            "env": env,
            "volumeMounts": [{"name": mount["name"], "mountPath": path}],
        }
    ]


def _volumes(iec: Json, mode: Mode, kubernetes: Json) -> list[Json]:
    """The operator's volumes; the IEC's replace those of the same name (observed)."""
    (l1, l2), names = caches(iec), Names(iec)
    source, model = iec["spec"]["modelSourceConfig"], iec["spec"]["worker"]["modelVolumeMount"]["name"]
    own: list[Json] = []
    if source["modelSourceType"] in ("fsx", "s3") and not source.get("prefetchEnabled"):
        # Inferred: AWS's CSI drivers, by a claim that the operator makes. The emulator makes none.
        own.append({"name": model, "persistentVolumeClaim": {"claimName": f"{names.iec}-model"}})
    elif source["modelSourceType"] != "kubernetesVolume":
        own.append({"name": model, "emptyDir": {}})
    if mode == "MultiProcess":
        own.append({"name": "dshm", "emptyDir": {"medium": "Memory"}})
    elif l1 or l2:
        own.append({"name": "lmcache-config", "configMap": {"name": names.lmcache_config}})
    if mode == "InProcess" and l2:
        own.append({"name": "host-shm", "hostPath": {"path": "/dev/shm"}})
    given = copy.deepcopy(kubernetes.get("volumes") or [])
    taken = {each["name"] for each in given}
    return [each for each in own if each["name"] not in taken] + given


def _affinity(iec: Json) -> Json:
    """Instance types as node affinity (observed), those of a list by preference (inferred)."""
    spec, label = iec["spec"], "node.kubernetes.io/instance-type"
    if spec.get("nodeAffinity"):
        return dict(copy.deepcopy(spec["nodeAffinity"]))
    types = spec.get("instanceTypes") or ([spec["instanceType"]] if spec.get("instanceType") else [])
    if not types:
        return {}

    def is_in(values: list[str]) -> Json:
        return {"matchExpressions": [{"key": label, "operator": "In", "values": values}]}

    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": max(1, 100 - index), "preference": is_in([each])} for index, each in enumerate(types)
        ],
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [is_in(types)]},
    }
