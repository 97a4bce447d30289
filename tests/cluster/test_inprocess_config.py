"""What the chart renders for GPUs, understood by the real vLLM and LMCache: both modes, tensor and pipeline parallel.

The nodes have no GPU, so nothing is served: a Pod of the engine image gives command lines and environment to the parsers of
the two projects, which are the same code in their builds for GPUs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, environment, model, overlay
from local_cluster.host import gotools

from .api import Api, wait_for

PROGRAM = Path(__file__).parent / "read_config.py"
POD = "read-config"
GPU: Json = overlay(
    model(
        engine={"device": "cuda", "tensorParallelSize": 2, "pipelineParallelSize": 2, "kvCacheDtype": "fp8"},
        cache={"l1": {"memory": "8Gi"}, "eagerPrefetch": True},
        resources={"engine": {"limits": {"memory": "128Gi"}}, "lmcache": {"limits": {"memory": "16Gi"}}},
    )
)
IN_PROCESS: Json = overlay(GPU, model(engine={"lmcacheMode": "inProcess"}, cache={"eagerPrefetch": False}))
OLD: Json = overlay(
    IN_PROCESS,
    model(
        engine={
            "versions": {"vllm": "0.19.1", "lmcache": "0.4.3"},
            "image": {"repository": "example.com/engine", "tag": "x"},
            "acknowledge": {"unknownPair": True},
        }
    ),
)
LAYERS = {"multiProcess": GPU, "inProcess": IN_PROCESS, "inProcess, old": OLD}


def _case(manifests: Manifests) -> Json:
    """Command lines and environment, as the kubelet hands them over."""

    def expand(text: str) -> str:
        return text.replace("$(POD_NAME)", "some-pod")

    containers = {each["name"]: each for each in manifests.pod()["spec"]["containers"]}
    server = containers.get("lmcache")
    return {
        "vllm": [expand(each) for each in containers["vllm"]["args"]],
        "lmcache": [expand(each) for each in server["args"]] if server else None,
        "env": {name: expand(value) for name, value in environment(containers["vllm"]).items() if "LMCACHE" in name},
    }


@pytest.fixture(scope="module")
def understood(api: Api, namespace: str, images: dict[str, str]) -> Iterator[Json]:
    """What the Pod printed, by case."""
    helm = Helm(str(gotools.ensure_cli("helm")))
    cases = {name: _case(helm.template(layer)) for name, layer in LAYERS.items()}
    variables = {"CASES": json.dumps(cases), "HOME": "/tmp", "VLLM_LOGGING_LEVEL": "ERROR"}
    container: dict[str, Any] = {
        "name": "read",
        "image": images["engine-cpu"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", PROGRAM.read_text()],
        "env": [{"name": name, "value": value} for name, value in variables.items()],
    }
    body = {"metadata": {"name": POD}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    api.core.create_namespaced_pod(namespace, body)
    try:
        wait_for(
            "the parsers' answer",
            lambda: api.core.read_namespaced_pod(POD, namespace).status.phase in ("Succeeded", "Failed"),
            300,
        )
        printed = api.core.read_namespaced_pod_log(POD, namespace)
        assert api.core.read_namespaced_pod(POD, namespace).status.phase == "Succeeded", printed
        yield json.loads(printed.strip().splitlines()[-1])
    finally:
        api.remove_pod(namespace, POD)


@pytest.mark.parametrize("case", LAYERS)
def test_vllm_understands_its_command_line(understood: Json, case: str) -> None:
    told = understood[case]["vllm"]
    server = case == "multiProcess"
    assert told == {
        "model": "/models/tiny",
        "served": ["tiny"],
        "tp": 2,
        "pp": 2,
        "blockSize": None,
        "kvCacheDtype": "fp8",
        "gpuMemoryUtilization": 0.9,
        "hybridOff": True if server else None,
        "connector": "LMCacheMPConnector" if server else "LMCacheConnectorV1",
        "policy": "recompute",
        "extra": told["extra"],
    }
    assert told["extra"].get("lmcache.mp.eager_prefetch", False) is server


def test_the_server_understands_its_command_line(understood: Json) -> None:
    assert understood["multiProcess"]["lmcache"] == {
        "transfer": "engine_driven",
        "workers": 4,
        "l1Bytes": 8 * 2**30,
        "lazy": False,
        "shm": "tiered-kv-cache",
        "adapter": "FilesystemL2Adapter",
        "basePath": "/run/tkc/l2",
        "temporary": "some-pod",
    }


def test_in_process_lmcache_understands_its_environment(understood: Json) -> None:
    common = {
        "chunk_size": 256,
        "local_cpu": True,
        # GiB of each of four ranks.
        "max_local_cpu_size": 2.0,
        "save_unfull_chunk": False,
        "pre_caching_hash_algorithm": "sha256_cbor",
        "remote_serde": "naive",
        "internal_api_server_enabled": True,
        "internal_api_server_host": "127.0.0.1",
        "internal_api_server_port_start": 7000,
        "lmcache_instance_id": "some-pod",
    }
    temporary = {"fs_connector_relative_tmp_dir": ".tmp-some-pod"}
    assert understood["inProcess"]["lmcache"] == {
        **common,
        "remote_url": None,
        "remote_storage_plugins": ["fs"],
        "extra_config": {**temporary, "remote_storage_plugin.fs.base_path": "/run/tkc/l2"},
    }


def test_the_older_form_of_the_filesystem_is_understood(understood: Json) -> None:
    told = understood["inProcess, old"]["lmcache"]
    assert told["remote_url"] == "fs://localhost:0/run/tkc/l2/"
    assert told["extra_config"] == {"fs_connector_relative_tmp_dir": ".tmp-some-pod"}
