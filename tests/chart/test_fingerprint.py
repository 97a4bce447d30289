"""The rendered part of the L2 root's fingerprint: what changes a block's bytes changes it, and nothing else does.

The other part, the weights' bytes, is added at the start of a Pod (tests/unit/hooks/test_l2root.py).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, container, environment, flag, model, overlay


def _engine(**changes: Any) -> Json:
    return model(engine=changes)


def _versions(vllm: str, lmcache: str) -> Json:
    return _engine(
        versions={"vllm": vllm, "lmcache": lmcache},
        image={"repository": "example.com/engine", "tag": "x"},
        acknowledge={"unknownPair": True},
    )


CACHED: Json = model(
    resources={"engine": {"limits": {"memory": "16Gi"}}, "lmcache": {"limits": {"memory": "8Gi"}}},
)
"""Room for more ranks."""

GPU: Json = {"models": {"tiny": {**CACHED["models"]["tiny"], "engine": {"device": "cuda"}}}}

CHANGES: dict[str, Json] = {
    "claim": model(source={"claim": {"name": "others"}}),
    "folder on the claim": model(source={"claim": {"subPath": "tiny-2"}}),
    "kind of source": model(source={"claim": None, "imagePath": {"path": "/models/tiny"}}),
    "dtype": model(engine={"dtype": "bfloat16"}),
    "block size": model(engine={"blockSize": 64}),
    "chunk size": model(cache={"chunkSize": 512}),
    "vLLM": _versions("0.33.0+cpu", "0.5.6"),
    "LMCache": _versions("0.32.0+cpu", "0.5.7"),
    "hash seed": model(cache={"hashSeed": 1}),
    "unknown engine flag": model(engine={"args": ["--hf-overrides", '{"rope_theta": 1}']}),
    "value of an unknown flag": model(engine={"args": ["--hf-overrides", '{"rope_theta": 2}']}),
    "RoPE overrides": _engine(args=["--rope-scaling", '{"rope_type": "yarn", "factor": 4}']),
    "RoPE overrides, dotted": _engine(args=["--hf-overrides.rope_theta", 1000000]),
    "quantisation": _engine(args=["--quantization=fp8"]),
    "quantisation, short": _engine(args=["-q", "fp8"]),
    "KV layout": _engine(env={"VLLM_KV_CACHE_LAYOUT": "HND"}),
    "type of KV blocks": _engine(kvCacheDtype="fp8_e5m2"),
    "adapters": _engine(args=["--enable-lora", "--lora-modules", "a=/adapters/a"], acknowledge={"loraWithCache": True}),
    "other adapters": _engine(
        args=["--enable-lora", "--lora-modules", "a=/adapters/b"], acknowledge={"loraWithCache": True}
    ),
    "speculative decoding": _engine(args=["--spec-method", "ngram"], acknowledge={"speculativeWithCache": True}),
    "attention backend": _engine(args=["--attention-backend", "TRITON_ATTN"]),
    "an engine flag of a later version": _engine(args=["--some-new-flag"]),
    "an LMCache variable of a later version": _engine(env={"LMCACHE_SOMETHING_NEW": "1"}),
    "weights that are not read": _engine(args=["--load-format", "dummy"]),
    "tensor parallel": overlay(CACHED, _engine(tensorParallelSize=2)),
    "pipeline parallel": overlay(CACHED, _engine(pipelineParallelSize=2)),
    "device": GPU,
    "in-process": overlay(GPU, _engine(lmcacheMode="inProcess")),
    "block size on a GPU": overlay(GPU, _engine(blockSize=16)),
}

KEEPS: dict[str, Json] = {
    "context length": model(engine={"maxModelLen": 8192}),
    "concurrency": model(engine={"maxNumSeqs": 8}),
    "replicas": model(replicas=5),
    "L0 size": model(engine={"cpu": {"kvCacheSpaceGiB": 2}}),
    "L0 off": model(cache={"l0": {"enabled": False}}),
    "L1 size": model(cache={"l1": {"memory": "512Mi"}}),
    "memory": model(resources={"engine": {"limits": {"memory": "16Gi"}}, "lmcache": {"limits": {"memory": "4Gi"}}}),
    "nodes": model(nodeSelector={"pool": "a"}, tolerations=[{"operator": "Exists"}]),
    "image rebuilt": _engine(image={"tag": "other"}),
    "image of another registry with the same versions": _engine(
        image={"tag": "other", "repository": "example.com/engine"},
        versions={"vllm": "0.32.0+cpu", "lmcache": "0.5.6"},
    ),
    "versions written out": _engine(versions={"vllm": "0.32.0+cpu", "lmcache": "0.5.6"}),
    "mode written out": _engine(lmcacheMode="multiProcess"),
    "CPU count": model(engine={"cpu": {"ompThreadsBind": "nobind"}}, resources={"engine": {"limits": {"cpu": 8}}}),
    "shared memory": _engine(shmSize="512Mi"),
    "Pod": model(podAnnotations={"a": "b"}, terminationGracePeriodSeconds=100),
    "early prefetch": model(cache={"eagerPrefetch": True}),
    "acknowledgements alone": _engine(
        acknowledge=dict.fromkeys(("loraWithCache", "unknownPair", "hybridKvCache"), True)
    ),
    "served name": model(servedName="other"),
    "mount path": {"l2": {"mountPath": "/mnt/elsewhere"}},
    "line of business": {"lineOfBusiness": "wealth"},
    "router": model(routing={"replicas": 2, "service": {"port": 8080}}),
    "probes": model(probes={"startup": {"budget": 60}}),
    "what happens to a block that is lost": _engine(kvLoadFailurePolicy="fail", acknowledge={"kvLoadFailure": True}),
    "threads": model(engine={"cpu": {"ompThreadsBind": "0-3"}}),
    "neutral flags": model(engine={"args": ["--max-num-batched-tokens", 8192, "--enable-log-requests"]}),
    "neutral environment": model(engine={"env": {"VLLM_SERVER_DEV_MODE": "1", "HTTPS_PROXY": "http://proxy"}}),
    "another model beside it": {"models": {"aaa": {"source": {"claim": {"name": "models"}}, "enabled": False}}},
}


def _fingerprint(manifests: Manifests) -> str:
    return str(manifests.pod()["metadata"]["annotations"]["tiered-kv-cache.io/config-hash"])


def test_is_the_hash_of_what_the_volume_is_told(helm: Helm) -> None:
    manifests = helm.template()
    told = environment(manifests.container("l2-root"))["TKC_L2_CONFIG"]
    config = json.loads(told)
    assert told == json.dumps(config, sort_keys=True, separators=(",", ":"))
    assert _fingerprint(manifests) == hashlib.sha256(told.encode()).hexdigest()[:16]
    assert config == {
        "format": "v1",
        "source": {"claim": {"namespace": "tiered-kv-cache", "name": "models", "subPath": "tiny"}},
        "modelPath": "/models/tiny",
        "device": "cpu",
        "dtype": "float32",
        "kvCacheDtype": "auto",
        "tensorParallelSize": 1,
        "pipelineParallelSize": 1,
        "blockSize": 128,
        "chunkSize": 256,
        "vllm": "0.32.0+cpu",
        "lmcache": "0.5.6",
        "hashAlgorithm": "blake3",
        "lmcacheMode": "multiProcess",
        "hashSeed": 0,
        "engineArgs": [],
        "engineEnv": {},
    }


def test_the_volume_is_told_what_was_hashed_whatever_users_write(helm: Helm) -> None:
    manifests = helm.template(model(engine={"args": ["--hf-overrides", 'it\'s $(POD_NAME) "<&>"']}))
    told = environment(manifests.container("l2-root"))["TKC_L2_CONFIG"]
    # As the kubelet reads it: $$ is a plain $.
    seen = told.replace("$$(", "$(")
    assert "$$(POD_NAME)" in told
    assert json.loads(seen)["engineArgs"] == [["--hf-overrides", 'it\'s $(POD_NAME) "<&>"']]
    assert _fingerprint(manifests) == hashlib.sha256(seen.encode()).hexdigest()[:16]


def test_lmcache_writes_where_the_fingerprint_leads(helm: Helm) -> None:
    """To a link that the init container makes once it knows the weights, on a volume that both see."""
    pod = helm.template().pod()
    adapter = json.loads(flag(container(pod, "lmcache")["args"], "--l2-adapter"))
    assert adapter["adapter_params"]["base_path"] == "/run/tkc/l2"
    root, lmcache = (
        {(mount["name"], mount["mountPath"]) for mount in container(pod, name)["volumeMounts"]}
        for name in ("l2-root", "lmcache")
    )
    assert {("run", "/run/tkc"), ("l2", "/mnt/kv-l2")} <= root
    # The same path below the part that it sees of the volume.
    assert {("run", "/run/tkc"), ("l2", "/mnt/kv-l2/v1/retail")} <= lmcache


def test_gpu_memory_is_a_limit_like_others(helm: Helm) -> None:
    def of(share: float) -> str:
        return _fingerprint(helm.template(overlay(GPU, _engine(gpuMemoryUtilization=share))))

    assert of(0.9) == of(0.5)


@pytest.fixture(scope="module")
def base(helm: Helm) -> str:
    return _fingerprint(helm.template())


@pytest.mark.parametrize("change", CHANGES)
def test_changes_with(helm: Helm, base: str, change: str) -> None:
    assert _fingerprint(helm.template(CHANGES[change])) != base


def test_changes_differ_from_each_other(helm: Helm) -> None:
    assert len({_fingerprint(helm.template(change)) for change in CHANGES.values()}) == len(CHANGES)


@pytest.mark.parametrize("change", KEEPS)
def test_does_not_change_with(helm: Helm, base: str, change: str) -> None:
    assert _fingerprint(helm.template(KEEPS[change])) == base


def test_order_of_flags_does_not_matter(helm: Helm) -> None:
    def of(*args: Any) -> str:
        return _fingerprint(helm.template(model(engine={"args": list(args)})))

    assert (
        of("--seed", 1, "--rope-theta", 2) == of("--rope-theta", 2, "--seed", 1) != of("--seed", 2, "--rope-theta", 1)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # The last one wins in vLLM.
        (["--quantization", "fp8", "--quantization", "awq"], ["--quantization", "awq", "--quantization", "fp8"]),
        (["--quantization", "fp8", "-q", "awq"], ["-q", "awq", "--quantization", "fp8"]),
        (["--quantization", "fp8", "--quantizat", "awq"], ["--quantizat", "awq", "--quantization", "fp8"]),
        (["--async-scheduling", "--no-async-scheduling"], ["--no-async-scheduling", "--async-scheduling"]),
        (["--hf-overrides.a=1", "--hf_overrides.a=2"], ["--hf_overrides.a=2", "--hf-overrides.a=1"]),
        # A blank in a value is no border between two.
        (["--x", "b c"], ["--x", "b", "c"]),
        (["--x", "b c"], ["--x", "b  c"]),
    ],
)
def test_command_lines_that_differ_to_vllm_do_not_share(helm: Helm, one: list[str], other: list[str]) -> None:
    assert _fingerprint(helm.template(_engine(args=one))) != _fingerprint(helm.template(_engine(args=other)))


def test_flags_are_told_in_the_order_of_their_names(helm: Helm) -> None:
    args = ["--seed", 1, "--rope-theta", 2, "--revision=a", "--no-async-scheduling", "--max-num-batched-tokens", 9]
    told = json.loads(environment(helm.template(_engine(args=args)).container("l2-root"))["TKC_L2_CONFIG"])
    assert told["engineArgs"] == [["--no-async-scheduling"], ["--revision=a"], ["--rope-theta", "2"], ["--seed", "1"]]


def test_variables_that_arguments_name_count(helm: Helm) -> None:
    """The kubelet puts them into the command line, where vLLM reads them as what changes a block."""

    def of(value: str, *args: str) -> str:
        return _fingerprint(helm.template(_engine(args=list(args), env={"OVERRIDES": value})))

    assert of("1", "--hf-overrides", "$(OVERRIDES)") != of("2", "--hf-overrides", "$(OVERRIDES)")
    assert of("1", "--hf-overrides", "{}") == of("2", "--hf-overrides", "{}")


def test_an_image_with_weights_inside_is_known_by_them(helm: Helm) -> None:
    """Rebuilt with the same weights it may share; their bytes are read at the start of the Pod."""
    source = {"claim": None, "imagePath": {"path": "/opt/tiny"}}

    def of(tag: str) -> str:
        return _fingerprint(helm.template(model(source=source, engine={"image": {"tag": tag}})))

    assert of("a") == of("b")
