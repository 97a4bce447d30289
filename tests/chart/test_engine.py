"""The engine container: devices, GPUs, LMCache in both modes, flags and environment; and what is refused of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.helm import Helm, Json, container, environment, flag, model, overlay


def _engine(**changes: Any) -> Json:
    return model(engine=changes)


def _limits(**changes: Any) -> Json:
    """Limits of the vllm container; dots and slashes of resource names are written as they are, in a dictionary."""
    return model(resources={"engine": {"limits": changes}})


ROOM: Json = _limits(memory="64Gi")
GPU: Json = overlay(ROOM, _engine(device="cuda"))
IN_PROCESS: Json = overlay(GPU, _engine(lmcacheMode="inProcess"))
NO_CACHE: Json = model(cache={"l1": {"enabled": False}, "l2": {"enabled": False}})


def _gpus(amounts: Json) -> Json:
    return model(resources={"engine": {"limits": amounts}})


# --- devices -----------------------------------------------------------------------------------------------------------


def test_what_follows_from_the_device(helm: Helm) -> None:
    cpu, gpu = (helm.template(layer).container("vllm")["args"] for layer in ({}, GPU))
    assert (flag(cpu, "--dtype"), flag(gpu, "--dtype")) == ("float32", "auto")
    assert flag(cpu, "--block-size") == "128"
    assert "--block-size" not in gpu
    assert "--enforce-eager" in cpu
    assert "--enforce-eager" not in gpu
    assert flag(gpu, "--gpu-memory-utilization") == "0.9"
    assert "--gpu-memory-utilization" not in cpu
    assert flag(gpu, "--kv-cache-dtype") == flag(cpu, "--kv-cache-dtype") == "auto"


def test_what_is_given_wins_over_the_device(helm: Helm) -> None:
    args = helm.template(GPU, _engine(dtype="bfloat16", blockSize=16, kvCacheDtype="fp8")).container("vllm")["args"]
    assert [flag(args, name) for name in ("--dtype", "--block-size", "--kv-cache-dtype")] == ["bfloat16", "16", "fp8"]


def test_no_cpu_setting_reaches_a_gpu(helm: Helm) -> None:
    names = environment(helm.template(GPU).container("vllm"))
    assert not [name for name in names if name.startswith(("VLLM_CPU_", "OMP_"))]


# --- GPUs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tensor", "pipeline"), [(1, 1), (2, 1), (4, 2)])
def test_gpus_are_tp_times_pp(helm: Helm, tensor: int, pipeline: int) -> None:
    layer = _engine(tensorParallelSize=tensor, pipelineParallelSize=pipeline)
    vllm = helm.template(GPU, layer).container("vllm")
    assert vllm["resources"]["limits"]["nvidia.com/gpu"] == str(tensor * pipeline)
    if tensor * pipeline > 1:
        assert flag(vllm["args"], "--tensor-parallel-size") == str(tensor)
        assert flag(vllm["args"], "--pipeline-parallel-size") == str(pipeline)


def test_only_vllm_has_gpus(helm: Helm) -> None:
    """The server touches none, so that a Pod of TP x PP GPUs is what the scheduler sees."""
    pod = helm.template(GPU).pod()
    holders = [
        each["name"]
        for each in (*pod["spec"]["initContainers"], *pod["spec"]["containers"])
        if any("nvidia" in name for side in each["resources"].values() for name in side)
    ]
    assert holders == ["vllm"]
    # What images for GPUs set otherwise would show a container without GPUs all of the node.
    env = environment(container(pod, "lmcache"))
    assert (env["NVIDIA_VISIBLE_DEVICES"], env["CUDA_VISIBLE_DEVICES"]) == ("void", "")
    assert not {"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} & environment(container(pod, "vllm")).keys()
    args = container(pod, "lmcache")["args"]
    assert flag(args, "--supported-transfer-mode") == "engine_driven"
    config = json.loads(flag(container(pod, "vllm")["args"], "--kv-transfer-config"))
    assert config["kv_connector_extra_config"]["lmcache.mp.mp_transfer_mode"] == "engine_driven"


def test_a_mig_slice_is_the_gpu(helm: Helm) -> None:
    limits = helm.template(GPU, _gpus({"nvidia.com/mig-3g.20gb": 1})).container("vllm")["resources"]["limits"]
    assert limits == {"cpu": "4", "memory": "64Gi", "nvidia.com/mig-3g.20gb": "1"}


def test_gpus_written_out(helm: Helm) -> None:
    layer = overlay(_engine(tensorParallelSize=2), _gpus({"nvidia.com/gpu": 2, "vpc.amazonaws.com/efa": 1}))
    limits = helm.template(GPU, layer).container("vllm")["resources"]["limits"]
    assert (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"]) == ("2", "1")


def test_hybrid_manager_is_off_where_lmcache_takes_one_group(helm: Helm) -> None:
    def off(*layers: Json) -> bool:
        return "--disable-hybrid-kv-cache-manager" in helm.template(*layers).container("vllm")["args"]

    assert off(GPU)
    assert off(GPU, _engine(acknowledge={"hybridKvCache": True}))
    assert not off(GPU, NO_CACHE)
    assert off()
    # vLLM itself switches it off for the in-process connector.
    assert not off(IN_PROCESS)


# --- shares of ranks ---------------------------------------------------------------------------------------------------


def test_one_server_for_all_ranks(helm: Helm) -> None:
    layer = overlay(_engine(tensorParallelSize=4), model(cache={"l1": {"memory": "1Gi"}}))
    args = helm.template(GPU, layer).container("lmcache")["args"]
    assert flag(args, "--l1-size-gb") == "1"
    assert flag(args, "--max-workers") == "4"


def test_in_process_each_rank_gets_its_share_of_l1(helm: Helm) -> None:
    layer = overlay(_engine(tensorParallelSize=4, pipelineParallelSize=2), model(cache={"l1": {"memory": "40Gi"}}))
    layer = overlay(layer, _limits(memory="128Gi"))
    assert environment(helm.template(IN_PROCESS, layer).container("vllm"))["LMCACHE_MAX_LOCAL_CPU_SIZE"] == "5"


SHM = {
    "cpu": ({}, "1280Mi"),
    "cuda": (GPU, "2048Mi"),
    "in-process": (IN_PROCESS, "1024Mi"),
    "without": (NO_CACHE, "256Mi"),
}


@pytest.mark.parametrize("case", SHM)
def test_shared_memory(helm: Helm, case: str) -> None:
    layer, wanted = SHM[case]

    def size(*layers: Json) -> str:
        (shm,) = [each for each in helm.template(*layers).pod()["spec"]["volumes"] if each["name"] == "shm"]
        assert shm["emptyDir"]["medium"] == "Memory"
        return str(shm["emptyDir"]["sizeLimit"])

    assert size(layer) == wanted
    l1 = 1024 if case in ("cpu", "cuda") else 0
    assert size(layer, _engine(shmSize="3Gi")) == f"{3072 + l1}Mi"
    # 0 is an amount, whichever way it is written.
    assert size(layer, _engine(shmSize=0)) == size(layer, _engine(shmSize="0")) == f"{l1}Mi"


# --- LMCache in vLLM's own process -------------------------------------------------------------------------------------


def test_in_process(helm: Helm) -> None:
    pod = helm.template(IN_PROCESS).pod()
    (vllm,) = pod["spec"]["containers"]
    assert json.loads(flag(vllm["args"], "--kv-transfer-config")) == {
        "kv_connector": "LMCacheConnectorV1",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
    }
    env = {name: value for name, value in environment(vllm).items() if name.startswith("LMCACHE_")}
    extra = json.loads(env.pop("LMCACHE_EXTRA_CONFIG"))
    assert extra.keys() == {"remote_storage_plugin.fs.base_path", "fs_connector_relative_tmp_dir"}
    assert env == {
        "LMCACHE_TRACK_USAGE": "false",
        "LMCACHE_DISABLE_BANNER": "1",
        "LMCACHE_LMCACHE_INSTANCE_ID": "$(POD_NAME)",
        "LMCACHE_CHUNK_SIZE": "256",
        "LMCACHE_PRE_CACHING_HASH_ALGORITHM": "sha256_cbor",
        "LMCACHE_LOCAL_CPU": "true",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": "1",
        "LMCACHE_SAVE_UNFULL_CHUNK": "false",
        "LMCACHE_REMOTE_SERDE": "naive",
        "LMCACHE_REMOTE_STORAGE_PLUGINS": "fs",
        "LMCACHE_INTERNAL_API_SERVER_ENABLED": "true",
        "LMCACHE_INTERNAL_API_SERVER_HOST": "127.0.0.1",
        "LMCACHE_INTERNAL_API_SERVER_PORT_START": "7000",
    }


def test_in_process_without_l2(helm: Helm) -> None:
    vllm = helm.template(IN_PROCESS, {"l2": {"enabled": False}}).container("vllm")
    names = environment(vllm)
    assert "LMCACHE_LOCAL_CPU" in names
    assert not {"LMCACHE_REMOTE_STORAGE_PLUGINS", "LMCACHE_REMOTE_URL", "LMCACHE_EXTRA_CONFIG"} & names.keys()


def test_in_process_metrics_are_kept_on_the_pod_s_own_storage_and_begin_anew(helm: Helm) -> None:
    pod = helm.template(IN_PROCESS).pod()
    (vllm,) = pod["spec"]["containers"]
    directory = environment(vllm)["PROMETHEUS_MULTIPROC_DIR"]
    (mount,) = [each for each in vllm["volumeMounts"] if directory.startswith(each["mountPath"] + "/")]
    (volume,) = [each for each in pod["spec"]["volumes"] if each["name"] == mount["name"]]
    assert volume == {"name": "tmp", "emptyDir": {}}
    assert vllm["command"][:2] == ["sh", "-c"]
    assert vllm["command"][2].startswith('rm -rf "$PROMETHEUS_MULTIPROC_DIR" && ')
    assert vllm["command"][2].endswith('exec vllm serve "$@"')
    # "$@" begins after $0.
    assert len(vllm["command"]) == 4


def test_in_process_no_port_of_lmcache_is_open(helm: Helm) -> None:
    def ports(layer: Json) -> set[int]:
        policy = helm.template(layer).get("NetworkPolicy", "demo-tiny-engine")["spec"]
        return {port["port"] for rule in policy["ingress"] for port in rule["ports"]}

    assert ports(GPU) == {8000, 8180}
    assert ports(IN_PROCESS) == {8000}


def test_a_server_has_no_such_environment(helm: Helm) -> None:
    names = environment(helm.template(GPU).container("vllm"))
    assert not [
        name
        for name in names
        if name.startswith("LMCACHE_") and name not in ("LMCACHE_TRACK_USAGE", "LMCACHE_DISABLE_BANNER")
    ]
    assert "PROMETHEUS_MULTIPROC_DIR" not in names


def test_no_cache_no_lmcache_on_a_gpu(helm: Helm) -> None:
    for layer in (GPU, IN_PROCESS):
        pod = helm.template(layer, NO_CACHE).pod()
        (vllm,) = pod["spec"]["containers"]
        assert vllm["command"] == ["vllm", "serve"]
        assert "--kv-transfer-config" not in vllm["args"]
        assert not [name for name in environment(vllm) if name.startswith("LMCACHE_") and "LOCAL" in name]


# --- switches ----------------------------------------------------------------------------------------------------------


def _transfer(helm: Helm, *layers: Json) -> Json:
    config: Json = json.loads(flag(helm.template(*layers).container("vllm")["args"], "--kv-transfer-config"))
    return config


def test_eager_prefetch(helm: Helm) -> None:
    assert "lmcache.mp.eager_prefetch" not in _transfer(helm)["kv_connector_extra_config"]
    eager = _transfer(helm, model(cache={"eagerPrefetch": True}))
    assert eager["kv_connector_extra_config"]["lmcache.mp.eager_prefetch"] is True


def test_policy_of_lost_blocks(helm: Helm) -> None:
    assert _transfer(helm)["kv_load_failure_policy"] == "recompute"
    layer = _engine(kvLoadFailurePolicy="fail", acknowledge={"kvLoadFailure": True})
    assert _transfer(helm, layer)["kv_load_failure_policy"] == "fail"


def test_acknowledged_risks_are_rendered(helm: Helm) -> None:
    layer = _engine(
        args=["--enable-lora", "--spec-method", "ngram"],
        env={"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"},
        acknowledge={"loraWithCache": True, "speculativeWithCache": True},
    )
    assert helm.template(layer).container("vllm")["args"][-3:] == ["--enable-lora", "--spec-method", "ngram"]
    unasked = _engine(args=["--enable-lora", "--spec-method", "ngram"])
    assert "--enable-lora" in helm.template(unasked, NO_CACHE).container("vllm")["args"]


def test_api_key_comes_from_the_secret(helm: Helm) -> None:
    manifests = helm.template({"apiKey": {"secretName": "keys", "key": "k"}})
    (entry,) = [each for each in manifests.container("vllm")["env"] if each["name"] == "VLLM_API_KEY"]
    assert entry["valueFrom"] == {"secretKeyRef": {"name": "keys", "key": "k"}}
    assert "VLLM_API_KEY" not in [each["name"] for each in helm.template().container("vllm")["env"]]
    assert "VLLM_API_KEY" not in [each["name"] for each in manifests.container("lmcache")["env"]]


@pytest.mark.parametrize("layer", [{}, GPU, IN_PROCESS], ids=["cpu", "cuda", "in-process"])
def test_all_that_is_written_goes_to_a_mounted_place(helm: Helm, layer: Json) -> None:
    """The root is read-only, and an arbitrary user has neither home nor name."""
    for each in helm.template(layer).pod()["spec"]["containers"]:
        env = environment(each)
        assert env["USER"]
        mounts = [mount["mountPath"] for mount in each["volumeMounts"] if not mount.get("readOnly")]
        written = {name: value for name, value in env.items() if value.startswith("/") and name != "PYTHONPATH"}
        assert {"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} <= written.keys()
        if each["name"] == "vllm" and layer:
            assert {
                "VLLM_CACHE_ROOT",
                "TRITON_CACHE_DIR",
                "TORCHINDUCTOR_CACHE_DIR",
                "FLASHINFER_WORKSPACE_BASE",
            } <= written.keys()
        for name, path in written.items():
            assert any(path == mount or path.startswith(f"{mount}/") for mount in mounts), name


# --- refusals ----------------------------------------------------------------------------------------------------------

LORA = "one adapter would be served another's cache"
SPECULATIVE = "draft model's KV is not cached"
REFUSED: dict[str, tuple[Json, list[str]]] = {
    "GPUs on a CPU engine": (
        _gpus({"nvidia.com/gpu": 1}),
        ["engine.device", "asks for nvidia.com/gpu", "set engine.device: cuda"],
    ),
    "fewer GPUs than ranks": (
        overlay(GPU, _engine(tensorParallelSize=4), _gpus({"nvidia.com/gpu": 1})),
        [
            "models.tiny.resources.engine.limits.nvidia.com/gpu: 1",
            "engine.tensorParallelSize 4 x engine.pipelineParallelSize 1 = 4 GPUs",
            "set it to 4",
        ],
    ),
    "more GPUs than ranks": (
        overlay(GPU, _gpus({"nvidia.com/gpu": "8"})),
        ['models.tiny.resources.engine.limits.nvidia.com/gpu: "8"', "= 1 GPUs", "set it to 1"],
    ),
    "half a GPU": (
        overlay(GPU, _gpus({"nvidia.com/gpu": "500m"})),
        ['limits.nvidia.com/gpu: "500m"', "whole number"],
    ),
    "no GPU": (
        overlay(GPU, _gpus({"nvidia.com/gpu": 0})),
        ["limits.nvidia.com/gpu: 0", "= 1 GPUs", "leave it out"],
    ),
    "two slices for two ranks": (
        overlay(GPU, _engine(tensorParallelSize=2), _gpus({"nvidia.com/mig-3g.20gb": 2})),
        ["limits.nvidia.com/mig-3g.20gb: 2", "sees one MIG slice only", "a larger slice"],
    ),
    "two slices for one rank": (
        overlay(GPU, _gpus({"nvidia.com/mig-3g.20gb": 2})),
        ["limits.nvidia.com/mig-3g.20gb: 2", "sees one MIG slice only", "use one slice"],
    ),
    "slice and whole GPU": (
        overlay(GPU, _gpus({"nvidia.com/mig-3g.20gb": 1, "nvidia.com/gpu": 1})),
        [
            "models.tiny.resources.engine.limits",
            "nvidia.com/gpu, nvidia.com/mig-3g.20gb",
            "would all be reserved",
            "keep one",
        ],
    ),
    "GPU as a request": (
        overlay(GPU, model(resources={"engine": {"requests": {"nvidia.com/gpu": 1}}})),
        ["models.tiny.resources.engine.requests.nvidia.com/gpu: 1", "the limit must be the same", "set the limit"],
    ),
    "lost blocks end requests": (
        _engine(kvLoadFailurePolicy="fail"),
        ['models.tiny.engine.kvLoadFailurePolicy: "fail"', "cost answers, not time", "acknowledge.kvLoadFailure: true"],
    ),
    "adapters": (_engine(args=["--enable-lora"]), ['"--enable-lora"', LORA, "acknowledge.loraWithCache: true"]),
    "adapters by modules": (_engine(args=["--lora-modules", "a=/a"]), ['"--lora-modules"', LORA]),
    "adapters of a modality": (_engine(args=["--default-mm-loras", "{}"]), ['"--default-mm-loras"', LORA]),
    "adapters at run time": (
        _engine(env={"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}),
        ["models.tiny.engine.env.VLLM_ALLOW_RUNTIME_LORA_UPDATING", LORA],
    ),
    "adapters with L1 alone": (
        overlay({"l2": {"enabled": False}}, _engine(args=["--enable-lora"])),
        ['"--enable-lora"', LORA],
    ),
    "adapters, abbreviated": (_engine(args=["--enable-lor"]), ['"--enable-lor"', LORA]),
    "adapters by modules, abbreviated": (_engine(args=["--lora-mod", "a=/b"]), ['"--lora-mod"', LORA]),
    "adapters by modules, abbreviated with =": (_engine(args=["--lora_m=a=/b"]), ['"--lora_m=a=/b"', LORA]),
    "adapters of a modality, abbreviated": (_engine(args=["--default-mm", "{}"]), ['"--default-mm"', LORA]),
    "adapters by a variable": (_engine(args=["$(FLAG)"], env={"FLAG": "--enable-lora"}), ['"$(FLAG)"', LORA]),
    "speculative decoding": (
        _engine(args=["--speculative-config", "{}"]),
        ['"--speculative-config"', SPECULATIVE, "acknowledge.speculativeWithCache: true"],
    ),
    "speculative decoding, underscores": (_engine(args=["--speculative_config={}"]), [SPECULATIVE]),
    "speculative decoding, dotted": (_engine(args=["--speculative-config.method=ngram"]), [SPECULATIVE]),
    "speculative decoding, short": (_engine(args=["-sc", "{}"]), ['"-sc"', SPECULATIVE]),
    "speculative decoding, by parts": (_engine(args=["--spec-method", "ngram"]), ['"--spec-method"', SPECULATIVE]),
    "chunk that no block fits": (
        overlay(GPU, model(cache={"chunkSize": 200})),
        ["models.tiny.cache.chunkSize: 200", "not a multiple of 128", "use 256, or set engine.blockSize"],
    ),
}

ON_CPU = ["amd.com/gpu", "gpu.intel.com/i915", "nvidia.com/GPU", "nvidia.com/gpus", "habana.ai/gaudi"]
for resource in ON_CPU:
    REFUSED[f"{resource} on a CPU engine"] = (_gpus({resource: 1}), ["engine.device", f"asks for {resource}"])
    REFUSED[f"{resource} on cuda"] = (
        overlay(GPU, _gpus({resource: 1})),
        [
            f'models.tiny.resources.engine: "{resource}"',
            "no GPU that an engine on cuda can use",
            "write nvidia.com/gpu",
        ],
    )
for device_name, device_layer in {"cpu": {}, "cuda": GPU}.items():
    for holder, resource in {"lmcache": "nvidia.com/gpu", "router": "amd.com/gpu"}.items():
        REFUSED[f"a GPU for {holder} on {device_name}"] = (
            overlay(device_layer, model(resources={holder: {"limits": {resource: 1}}})),
            [
                f"models.tiny.resources.{holder}.limits.{resource}: 1",
                "only the engine computes on a GPU",
                "take it out",
            ],
        )
for place in ("hooks", "gateway", "l2.keeper"):
    outer, _, inner = place.partition(".")
    asked: Json = {"resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}
    REFUSED[f"a GPU for {place}"] = (
        overlay({"gateway": {"enabled": True}}, {outer: {inner: asked} if inner else asked}),
        [f"{place}.resources.limits.nvidia.com/mig-1g.5gb: 1", "only the engine computes on a GPU"],
    )

HTTP = "by HTTP on its port"
for argument, says in {
    "--ssl-certfile": "speak plain HTTP",
    "--ssl-keyfile=/tls/key": "speak plain HTTP",
    "--ssl-ca": "speak plain HTTP",
    "--ssl_cert_reqs": "speak plain HTTP",
    "--ssl-ciphers": "speak plain HTTP",
    "--enable-ssl-refresh": "speak plain HTTP",
    "--uds": HTTP,
    "--uds=/tmp/s": HTTP,
    "--grpc": HTTP,
    "--grpc-port": HTTP,
    "--disable-log-stats": "ends vLLM's metrics",
    "--disable-log-st": "ends vLLM's metrics",
    "--help": "prints a text and ends",
    "-h": "prints a text and ends",
}.items():
    REFUSED[f"a flag against what is around the engine: {argument}"] = (
        _engine(args=[argument]),
        [f'models.tiny.engine.args: "{argument}"', says, "take it out"],
    )
for words, wrong, says in [
    (["--max-model-len 8192"], "--max-model-len 8192", "write flag and value as two elements"),
    (["--seed 1"], "--seed 1", "write flag and value as two elements"),
    (["--seed\n1"], "--seed\\n1", "write flag and value as two elements"),
    (["--seed", "1", " --x"], " --x", "write flag and value as two elements"),
    (["--seed", ""], "", "the argument is empty"),
    (["--seed=1", "2"], "2", "its value behind ="),
    (["--seed=1", "--"], "--", "those of the chart neither"),
]:
    REFUSED[f"an argument that vLLM cannot read: {words}"] = (
        _engine(args=words),
        [f'models.tiny.engine.args: "{wrong}"', says],
    )
for dtype in ("banana", "fp16"):
    for kv_layer in ({}, GPU):
        REFUSED[f"type of KV blocks {dtype} {'cuda' if kv_layer else 'cpu'}"] = (
            overlay(kv_layer, _engine(kvCacheDtype=dtype)),
            [
                f'models.tiny.engine.kvCacheDtype: "{dtype}"',
                "does not know it",
                "use one of: auto, bfloat16, float16, fp8,",
            ],
        )

OWNED_FLAGS: dict[str, str] = {
    "-n2": "TP x PP GPUs",
    "-r1": "TP x PP GPUs",
    "-n=2": "TP x PP GPUs",
    "--no-enable-scale-out": "routing.strategy",
    "--no-enable-scale": "routing.strategy",
    "--no-enable-prefix-caching": "cache.l0.enabled",
    "--no_enable_prefix_c": "cache.l0.enabled",
    "--no-data-parallel-hybrid-lb": "replicas",
    "--kv-cache-dtype": "engine.kvCacheDtype",
    "--gpu-memory-utilization": "engine.gpuMemoryUtilization",
    "--gpu_memory_utilization=0.5": "engine.gpuMemoryUtilization",
    "--tensor-parallel-size": "engine.tensorParallelSize",
    "-tp": "engine.tensorParallelSize",
    "-t": "engine.tensorParallelSize",
    "--pipeline-parallel-size=2": "engine.pipelineParallelSize",
    "-pp": "engine.pipelineParallelSize",
    "-pcp": "TP x PP GPUs",
    "--nnodes": "TP x PP GPUs",
    "--data-parallel-size-local": "replicas",
    "-dpl": "replicas",
    "--headless": "replicas",
    "--disable-hybrid-kv-cache-manager": "one group of layers",
    "--no-disable-hybrid-kv-cache-manager": "one group of layers",
    "--kv-events-config": "routing.strategy",
    "--kv-transfer-config": "cache.*",
    "--hf-token": "readable by everyone",
}
for argument, instead in OWNED_FLAGS.items():
    REFUSED[f"owned flag {argument}"] = (
        overlay(GPU, _engine(args=[argument])),
        [f'models.tiny.engine.args: "{argument}"', "the chart owns the flag", instead],
    )

OWNED_ENV: dict[str, str] = {
    "LMCACHE_USE_UPSTREAM_MP": "built-in connector",
    "LMCACHE_CONFIG_FILE": "cache.*",
    "LMCACHE_REMOTE_URL": "cache.*",
    "LMCACHE_EXTRA_CONFIG": "cache.*",
    "LMCACHE_MAX_LOCAL_CPU_SIZE": "cache.*",
    "LMCACHE_MP_TRANSFER_MODE": "cache.*",
    "LMCACHE_REMOTE_CONFIG_URL": "cache.*",
    "LMCACHE_RUN_SCRIPT_API_ENABLED": "cache.*",
    "LMCACHE_CHUNK_SIZE": "cache.chunkSize",
    "PROMETHEUS_MULTIPROC_DIR": "the chart sets it",
    "CUDA_VISIBLE_DEVICES": "resources.engine.limits",
    "NVIDIA_VISIBLE_DEVICES": "resources.engine.limits",
    "VLLM_API_KEY": "apiKey",
    "HF_TOKEN": "the chart sets it",
    "TRITON_CACHE_DIR": "the chart sets it",
}
for variable, instead in OWNED_ENV.items():
    REFUSED[f"owned variable {variable}"] = (
        _engine(env={variable: "1"}),
        [f"models.tiny.engine.env.{variable}", "the chart owns this variable", instead],
    )


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    helm.assert_refused(*REFUSED[case])


@pytest.mark.parametrize(
    "argument",
    [
        "-q",
        "--seed",
        "-O3",
        "--no-enable-lora",
        "--lora-dtype",
        '--hf-overrides={"a": 1}',
        "--no-async-scheduling",
        "--max-num-batched-tokens",
        "--enable-expert-parallel",
        "-ep",
    ],
)
def test_other_flags_are_the_user_s(helm: Helm, argument: str) -> None:
    assert argument in helm.template(GPU, _engine(args=[argument])).container("vllm")["args"]


def test_a_vllm_that_the_table_does_not_know_is_asked_nothing_about_kv_types(helm: Helm) -> None:
    layer = _engine(
        kvCacheDtype="fp4_of_tomorrow",
        versions={"vllm": "0.40.0", "lmcache": "0.6.0"},
        image={"repository": "registry.example.com/engine", "tag": "1"},
        acknowledge={"unknownPair": True},
    )
    assert flag(helm.template(GPU, layer).container("vllm")["args"], "--kv-cache-dtype") == "fp4_of_tomorrow"
