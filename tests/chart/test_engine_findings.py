"""What was found by running vLLM with LMCache on a shared directory, finding by finding: the chart prevents each one.

Without these settings: (a) two Pods that store one chunk lose each other's files, (b) blocks of another type are read as
garbage, (c) a truncated file is never repaired, (d) a missing directory shows in logs only, (e) the directory grows for ever,
(f) an L2 hit is not kept in L1, (g) an LMCache server that restarts ends the engine, or a lost block ends the request,
(h) shared memory is too small, or not shared, (i) the servers listen where nobody looks for them, or where everybody does.
"""

from __future__ import annotations

import json

import pytest

from chart.helm import Helm, Json, Manifests, container, environment, flag, model, overlay

GPU: Json = model(engine={"device": "cuda"}, resources={"engine": {"limits": {"memory": "64Gi"}}})
IN_PROCESS: Json = overlay(GPU, model(engine={"lmcacheMode": "inProcess"}))
MODES: dict[str, Json] = {"multiProcess on cpu": {}, "multiProcess on cuda": GPU, "inProcess on cuda": IN_PROCESS}


@pytest.fixture(params=MODES)
def manifests(helm: Helm, request: pytest.FixtureRequest) -> Manifests:
    return helm.template(MODES[request.param])


def _filesystem(manifests: Manifests) -> tuple[str, str]:
    """Directory and temporary directory that LMCache is told."""
    pod = manifests.pod()
    if any(each["name"] == "lmcache" for each in pod["spec"]["containers"]):
        adapter = json.loads(flag(container(pod, "lmcache")["args"], "--l2-adapter"))
        if adapter["type"] == "plugin":
            return adapter["adapter_params"]["base_path"], adapter["adapter_params"]["pod"]
        return adapter["base_path"], adapter["relative_tmp_dir"]
    extra = json.loads(environment(container(pod, "vllm"))["LMCACHE_EXTRA_CONFIG"])
    return extra["remote_storage_plugin.fs.base_path"], extra["fs_connector_relative_tmp_dir"]


def _transfer(manifests: Manifests) -> Json:
    config: Json = json.loads(flag(manifests.container("vllm")["args"], "--kv-transfer-config"))
    return config


def test_a_temporary_names_are_per_pod(manifests: Manifests) -> None:
    _, temporary = _filesystem(manifests)
    assert temporary in ("$(POD_NAME)", ".tmp-$(POD_NAME)")
    for each in manifests.pod()["spec"]["containers"]:
        # The kubelet replaces $(NAME) by what stands before it.
        assert each["env"][0] == {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


@pytest.mark.parametrize(
    "change", [{"dtype": "bfloat16"}, {"kvCacheDtype": "fp8_e5m2"}, {"tensorParallelSize": 2}], ids=str
)
def test_b_what_changes_a_block_changes_the_directory(helm: Helm, change: Json) -> None:
    room = model(resources={"engine": {"limits": {"memory": "16Gi"}}})

    def config(*layers: Json) -> Json:
        told: Json = json.loads(environment(helm.template(room, *layers).container("l2-root"))["TKC_L2_CONFIG"])
        return told

    assert config(model(engine=change)) != config()


def test_b_no_directory_is_shared_without_its_configuration(manifests: Manifests) -> None:
    """The directory that LMCache writes to is one that l2-root makes after it has compared what is told here."""
    base, _ = _filesystem(manifests)
    assert environment(manifests.container("l2-root"))["TKC_L2_CONFIG"]
    assert base.startswith(("/run/tkc/", "/mnt/kv-l2/v1/retail/tiny/"))


@pytest.mark.parametrize("finding", ["c truncated file", "d directory gone", "g server gone"])
def test_c_d_g_a_block_that_cannot_be_read_is_computed_again(manifests: Manifests, finding: str) -> None:
    assert _transfer(manifests)["kv_load_failure_policy"] == "recompute", finding


def test_e_what_grows_is_a_volume_of_its_own(manifests: Manifests) -> None:
    """Never the node's disk: a full L2 volume must not evict Pods."""
    base, _ = _filesystem(manifests)
    pod = manifests.pod()
    (volume,) = [each for each in pod["spec"]["volumes"] if each["name"] == "l2"]
    assert volume.keys() == {"name", "persistentVolumeClaim"}
    owner = container(pod, "lmcache" if len(pod["spec"]["containers"]) > 1 else "vllm")
    mounts = {each["mountPath"]: each["name"] for each in owner["volumeMounts"]}
    assert mounts["/mnt/kv-l2/v1/retail"] == "l2"
    assert base.startswith(tuple(mounts))


def test_f_an_l2_hit_is_kept_in_l1(manifests: Manifests) -> None:
    pod = manifests.pod()
    if len(pod["spec"]["containers"]) > 1:
        assert flag(container(pod, "lmcache")["args"], "--l2-prefetch-policy") == "retain"
    else:
        assert environment(container(pod, "vllm"))["LMCACHE_LOCAL_CPU"] == "true"


def test_g_a_restarted_server_costs_seconds(helm: Helm) -> None:
    for layer in ({}, GPU):
        extra = _transfer(helm.template(layer))["kv_connector_extra_config"]
        assert extra["lmcache.mp.mq_timeout"] <= 10
        # The server forgets a silent worker after 120 s, and asks for three tries in that time.
        assert 3 * extra["lmcache.mp.heartbeat_interval"] < extra["lmcache.mp.mq_timeout"]


def test_h_shared_memory_holds_l1_and_is_shared(helm: Helm) -> None:
    for layer in ({}, GPU):
        manifests = helm.template(layer)
        pod = manifests.pod()
        (shm,) = [each for each in pod["spec"]["volumes"] if each["name"] == "shm"]
        assert shm["emptyDir"]["medium"] == "Memory"
        l1 = float(flag(container(pod, "lmcache")["args"], "--l1-size-gb")) * 1024
        assert int(shm["emptyDir"]["sizeLimit"].removesuffix("Mi")) > l1
        for each in pod["spec"]["containers"]:
            assert {"name": "shm", "mountPath": "/dev/shm"} in each["volumeMounts"]
        args = container(pod, "lmcache")["args"]
        assert flag(args, "--shm-name")
        # A lazy pool switches shared memory off, without a word.
        assert "--no-l1-use-lazy" in args


def test_h_shared_memory_is_there_without_a_server(manifests: Manifests) -> None:
    assert {"name": "shm", "mountPath": "/dev/shm"} in manifests.container("vllm")["volumeMounts"]


def test_i_servers_listen_where_they_are_asked_and_nowhere_else(manifests: Manifests) -> None:
    pod = manifests.pod()
    vllm = container(pod, "vllm")
    assert flag(vllm["args"], "--host") == "0.0.0.0"
    if len(pod["spec"]["containers"]) > 1:
        args = container(pod, "lmcache")["args"]
        # The port that takes blocks is for the Pod itself; the other one is for probes and verify.
        assert flag(args, "--host") == "127.0.0.1"
        assert flag(args, "--http-host") == "0.0.0.0"
        assert not {"--run-script-api-enabled", "--enable"} & set(args)
        assert [each["containerPort"] for each in container(pod, "lmcache")["ports"]] == [8180]
    else:
        assert environment(vllm)["LMCACHE_INTERNAL_API_SERVER_HOST"] == "127.0.0.1"
        assert [each["containerPort"] for each in vllm["ports"]] == [8000]
