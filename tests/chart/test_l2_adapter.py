"""Who reads and writes the L2 volume: this bundle's adapter where LMCache can load it, LMCache's own elsewhere."""

from __future__ import annotations

import json
import subprocess

import pytest

from chart.helm import CHART, Helm, Json, Manifests, environment, flag, merged, model, overlay
from tiered_kv_cache.l2 import config

GPU = {"device": "cuda"}


def adapter(manifests: Manifests) -> Json:
    told: Json = json.loads(flag(manifests.container("lmcache")["args"], "--l2-adapter"))
    return told


@pytest.mark.parametrize("engine", [{}, GPU], ids=["cpu", "cuda"])
def test_the_bundles_adapter_is_loaded_from_where_it_is_copied_to(helm: Helm, engine: Json) -> None:
    manifests = helm.template(model(engine=engine))
    told = adapter(manifests)
    params = told.pop("adapter_params")
    assert told == {"type": "plugin", "module_path": "tiered_kv_cache.l2.adapter", "class_name": "FilesystemL2Adapter"}
    # The adapter itself reads them; the kubelet has put the Pod's name in by then. The chart's defaults are its own.
    assert config.parse({**params, "pod": "a-pod"}) == config.Settings("/run/tkc/l2", "a-pod")
    assert params["pod"] == "$(POD_NAME)"
    code = flag(manifests.container("copy-code")["args"], "--to")
    assert environment(manifests.container("lmcache"))["PYTHONPATH"] == code
    assert "PYTHONPATH" not in environment(manifests.container("vllm"))
    # The code is there before anything needs it, and nothing that runs can change it.
    names = [each["name"] for each in manifests.pod()["spec"]["initContainers"]]
    assert names == ["copy-code", "l2-root"]
    (mount,) = [each for each in manifests.container("lmcache")["volumeMounts"] if each["mountPath"] == "/run/tkc"]
    assert mount["readOnly"] is True


@pytest.mark.parametrize(
    "layer",
    [
        model(cache={"l2": {"adapter": "fs"}}),
        model(engine={**GPU, "versions": {"vllm": "0.26.0", "lmcache": "0.5.3"}}),
    ],
    ids=["chosen", "an LMCache without the interface"],
)
def test_lmcaches_own_adapter(helm: Helm, layer: Json) -> None:
    manifests = helm.template(layer)
    assert adapter(manifests) == {"type": "fs", "base_path": "/run/tkc/l2", "relative_tmp_dir": ".tmp-$(POD_NAME)"}
    assert "PYTHONPATH" not in environment(manifests.container("lmcache"))
    assert "copy-code" not in [each["name"] for each in manifests.pod()["spec"]["initContainers"]]


SETTINGS: Json = {
    "recomputeMsPerChunk": 12.5,
    "lookupDeadlineMs": 50,
    "stallMs": 2000,
    "loadBaseMs": 200,
    "loadMsPerMiB": 5,
    "loadThreads": 16,
    "storeThreads": 2,
    "storeQueueMiB": 1024,
    "fsync": "data",
    "directIO": True,
}


def test_settings_reach_the_adapter(helm: Helm) -> None:
    params = adapter(helm.template(model(cache={"l2": {"settings": SETTINGS}})))["adapter_params"]
    assert config.parse({**params, "pod": "a-pod"}) == config.Settings(
        "/run/tkc/l2",
        "a-pod",
        recompute_ms_per_chunk=12.5,
        lookup_deadline_ms=50,
        stall_ms=2000,
        load_base_ms=200,
        load_ms_per_mib=5,
        load_threads=16,
        store_threads=2,
        store_queue_mib=1024,
        fsync="data",
        direct_io=True,
    )


@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_that_is_null_is_named(helm: Helm, key: str) -> None:
    assert f"cache.l2.settings.{key}: not given" in helm.refusal(model(cache={"l2": {"settings": {key: None}}}))


def test_without_l2_nothing_is_copied(helm: Helm) -> None:
    assert "copy-code" not in helm.template(model(cache={"l2": {"enabled": False}})).text


def test_the_adapter_changes_no_fingerprint(helm: Helm) -> None:
    told = [
        environment(helm.template(model(cache={"l2": {"adapter": name}})).container("l2-root"))["TKC_L2_CONFIG"]
        for name in ("guarded", "fs")
    ]
    assert told[0] == told[1]


def test_unknown_adapter_is_refused(helm: Helm) -> None:
    message = helm.refusal(model(cache={"l2": {"adapter": "nfs"}}))
    assert "adapter" in message
    assert "'guarded', 'fs', 'custom'" in message


REDIS: Json = {
    "type": "resp",
    "host": "redis.kv.svc",
    "port": 6379,
    "max_capacity_gb": 1000000,
    "eviction": {"eviction_policy": "LRU"},
}
CUSTOM = model(
    cache={"l2": {"adapter": "custom", "adapterConfig": REDIS}}, engine={"acknowledge": {"customAdapter": True}}
)


def test_another_adapter_gets_its_json_as_it_is(helm: Helm) -> None:
    manifests = helm.template(CUSTOM)
    assert adapter(manifests) == REDIS
    assert isinstance(adapter(manifests)["port"], int)
    assert "PYTHONPATH" not in environment(manifests.container("lmcache"))
    # The fingerprint's directory is there for adapters that write files.
    assert [each["name"] for each in manifests.pod()["spec"]["initContainers"]] == ["l2-root"]
    guarded = environment(helm.template().container("l2-root"))["TKC_L2_CONFIG"]
    assert environment(manifests.container("l2-root"))["TKC_L2_CONFIG"] == guarded


def test_the_notes_say_that_nothing_guards_it(helm: Helm) -> None:
    command = [helm.path, "install", "demo", str(CHART), "--dry-run=client", "-f", "-"]
    done = subprocess.run(command, input=json.dumps(overlay(CUSTOM)), capture_output=True, text=True, check=True)
    assert "L2 LMCache's adapter resp (cache.l2.adapterConfig)" in done.stdout
    assert "no checksums and no deadlines" in done.stdout


def test_another_adapter_is_off_with_l2(helm: Helm) -> None:
    layer = model(cache={"l2": {"enabled": False, "adapter": "custom"}})
    assert "--l2-adapter" not in helm.template(layer).text


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (
            model(cache={"l2": {"adapter": "custom", "adapterConfig": REDIS}}),
            ['models.tiny.cache.l2.adapter: "custom"', "LMCache's keys name neither weights nor types", "acknowledge.customAdapter: true"],
        ),
        (
            merged(CUSTOM, model(cache={"l2": {"adapterConfig": {"type": None}}})),
            ['defaults.cache.l2.adapterConfig.type: ""', "would not start", "fs_native"],
        ),
        (
            merged(CUSTOM, model(cache={"l2": {"adapterConfig": {"type": 1}}})),
            ["models.tiny.cache.l2.adapterConfig.type: 1", "would not start"],
        ),
        (
            model(cache={"l2": {"adapterConfig": REDIS}}),
            ["models.tiny.cache.l2.adapterConfig: {", "cache.l2.adapter is guarded", "set cache.l2.adapter: custom"],
        ),
        (
            merged(CUSTOM, model(engine={**GPU, "lmcacheMode": "inProcess"})),
            ['models.tiny.cache.l2.adapter: "custom"', "inside vLLM has no such adapters", "engine.lmcacheMode: multiProcess"],
        ),
    ],
    ids=["not acknowledged", "without a type", "a type that is no name", "for another adapter", "in vLLM's process"],
)  # fmt: skip
def test_another_adapter_is_refused(helm: Helm, layer: Json, words: list[str]) -> None:
    message = helm.refusal(layer)
    for word in words:
        assert word in message
