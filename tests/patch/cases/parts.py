"""Parts of patched Pods, written out: nothing here is computed by the patch."""

from __future__ import annotations

from typing import Any

from .model import CLAIM, MOUNT_PATH, SEED, Json
from .shapes import MODEL, field_ref, kept_env, v32, value

POD_NAME = field_ref("POD_NAME", "metadata.name")
HASH_SEED = value("PYTHONHASHSEED", SEED)
URL = value("LMCACHE_REMOTE_URL", "fs://localhost:0/run/tkc/l2/")
SERDE = value("LMCACHE_REMOTE_SERDE", "naive")
TMP = '"fs_connector_relative_tmp_dir": "tmp-$(POD_NAME)"'
EXTRA = value("LMCACHE_EXTRA_CONFIG", '{"sagemaker_hyperpod_shared_memory_name": "ai_toolkit_cache", ' + TMP + "}")
EXTRA_ALONE = value("LMCACHE_EXTRA_CONFIG", "{" + TMP + "}")

VOLUME: Json = {"name": "tkc-l2", "persistentVolumeClaim": {"claimName": CLAIM}}
MOUNT: Json = {"name": "tkc-l2", "mountPath": MOUNT_PATH}
RUN: Json = {"name": "tkc-run", "mountPath": "/run/tkc", "readOnly": True}

FS = '{"type":"fs","base_path":"/run/tkc/l2","relative_tmp_dir":"tmp-$(POD_NAME)"}'
GUARDED = (
    '{"type":"plugin","module_path":"tiered_kv_cache.l2.adapter","class_name":"FilesystemL2Adapter",'
    '"adapter_params":{"base_path":"/run/tkc/l2","pod":"$(POD_NAME)"}}'
)
CODE = value("PYTHONPATH", "/run/tkc/code")
RETAIN = ("--l2-prefetch-policy", "retain")

WORKER = ("spec", "containers", MODEL)
SERVER = ("spec", "containers", "lmcache-server")
VOLUMES = ("spec", "volumes")

Parts = dict[tuple[str, ...], Any]


def worker_env(*kept: Json, url: Json = URL, extra: Json = EXTRA, seed: Json | None = HASH_SEED) -> list[Json]:
    """Of a worker in whose process LMCache runs; `kept`: what was there, else the operator's."""
    return [POD_NAME, *(kept or kept_env()), *([seed] if seed else []), url, SERDE, extra]


def in_process(env: list[Json] | None = None, **changed: Any) -> Parts:
    """Everything that changes in operator 3.2's Pod.

    Args:
        env: of the worker.
        changed: `mounts` of the worker and `volumes`, in full.
    """
    pod = v32()["spec"]
    return {
        (*WORKER, "env"): env or worker_env(),
        (*WORKER, "volumeMounts"): changed.get("mounts", [*pod["containers"][0]["volumeMounts"], MOUNT, RUN]),
        VOLUMES: changed.get("volumes", [*pod["volumes"], VOLUME]),
    }


def multi_process(
    args: list[str] | None = None,
    env: list[Json] | None = None,
    *,
    where: str = "args",
    worker: list[Json] | None = None,
    **changed: Any,
) -> Parts:
    """Everything that changes in operator 3.7's Pod.

    Args:
        args: of the server.
        env: of the server.
        where: the key that holds its arguments.
        worker: the worker's environment.
        changed: `mounts` of the server and `volumes`, in full.
    """
    return {
        (*WORKER, "env"): worker or [value("MODEL_CACHE_ROOT", "/opt/ml/model"), HASH_SEED],
        (*SERVER, where): args or ["--port", "5555", "--l1-size-gb", "10", *RETAIN, "--l2-adapter", GUARDED],
        (*SERVER, "env"): env or [POD_NAME, field_ref("NODE_IP", "status.hostIP"), HASH_SEED, CODE],
        (*SERVER, "volumeMounts"): changed.get("mounts", [MOUNT, RUN]),
        VOLUMES: changed.get("volumes", [*v32()["spec"]["volumes"], VOLUME]),
    }
