"""Twenty defects that other charts of this kind were found to have, one test each: this chart has none of them.

Each was reproduced by rendering another project's chart with values that its schema accepts; the docstrings say what was seen
there.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from chart.helm import CHART, Helm, Json, Refused, container, environment, flag, model

DEFAULTS: Json = yaml.safe_load((CHART / "values.yaml").read_text())
OTHER: Json = {"source": {"claim": {"name": "models"}}}
GPU = "nvidia.com/gpu"
KVAWARE = model(routing={"strategy": "kvaware"}, cache={"chunkSize": 128})


def _gpus(ranks: int, gpus: int | None = None, l1: str = "8Gi", memory: str = "64Gi") -> Json:
    limits: Json = {} if gpus is None else {GPU: gpus}
    return model(
        engine={"device": "cuda", "tensorParallelSize": ranks},
        cache={"l1": {"memory": l1}},
        resources={"engine": {"limits": {"memory": memory, **limits}}, "lmcache": {"limits": {"memory": memory}}},
    )


@pytest.mark.parametrize("l1, l2", [*itertools.product((True, False), repeat=2)])
def test_01_a_cache_switch_needs_no_other_block(helm: Helm, l1: bool, l2: bool) -> None:
    """There: the cache switched on without an engine block beside it ended in "wrong type for value"."""
    values = model(cache={"l1": {"enabled": l1}, "l2": {"enabled": l2}})
    if l2 and not l1:
        assert "pass through L1" in helm.refusal(values)
    else:
        names = [each["name"] for each in helm.template(values).pod()["spec"]["containers"]]
        assert names == (["vllm", "lmcache"] if l1 else ["vllm"])


def test_02_a_default_written_out_changes_nothing(helm: Helm) -> None:
    """There: templates asked whether a key was there, so that "false" gave JSON with a hole (`"port": }`)."""
    written = copy.deepcopy(DEFAULTS["defaults"])
    del written["source"]
    plain, explicit = helm.template(), helm.template(model(**written))
    assert explicit.text == plain.text
    json.loads(flag(explicit.container("vllm")["args"], "--kv-transfer-config"))


SOURCES: dict[str, Json] = {
    "claim": {"claim": {"name": "models"}},
    "imagePath": {"imagePath": {"path": "/models/a"}},
    "huggingFace": {"huggingFace": {"id": "a/b", "revision": "0" * 40}},
    "s3": {"s3": {"bucket": "models", "region": "us-west-2"}},
    "mountpoint": {"s3": {"bucket": "models", "region": "us-west-2", "mode": "mountpoint"}},
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("cached", [True, False])
def test_03_every_volume_can_be_the_only_one(helm: Helm, source: str, cached: bool) -> None:
    """There: shared storage alone wrote list items without the key `volumeMounts:` above them."""
    cache = {"l1": {"enabled": cached}, "l2": {"enabled": cached}}
    pod = helm.template(model(source={"claim": None, **SOURCES[source]}, cache=cache)).pod()["spec"]
    every = [*pod.get("initContainers", []), *pod["containers"]]
    mounted = {mount["name"] for each in every for mount in each["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize("scope", [(), ("models", "tiny"), ("models", "tiny", "cache"), ("defaults", "cache", "l1")])
def test_04_a_misspelt_key_is_refused(helm: Helm, scope: tuple[str, ...]) -> None:
    """There: `lmCacheConfig` for `lmcacheConfig` was ignored, and the model ran without a cache."""
    values: Json = {"lmCacheConfig": {"enabled": True}}
    for part in reversed(scope):
        values = {part: values}
    assert "lmCacheConfig" in helm.refusal(values)


def test_05_gpus_must_be_as_many_as_the_ranks(helm: Helm) -> None:
    """There: tensor parallel 4 with one GPU was accepted, and the engine could not start."""
    message = helm.refusal(_gpus(4, 1))
    assert GPU in message
    assert "tensorParallelSize" in message
    assert helm.template(_gpus(4, 4)).container("vllm")["resources"]["limits"][GPU] == "4"
    assert helm.template(_gpus(4)).container("vllm")["resources"]["limits"][GPU] == "4"


@pytest.mark.parametrize("mode", ["multiProcess", "inProcess"])
def test_06_l1_must_fit_into_memory(helm: Helm, mode: str) -> None:
    """There: 60 GiB for each of 4 ranks within a limit of 32 GiB was accepted, and the Pod was killed under load."""
    values = _gpus(4, l1="60Gi", memory="32Gi")
    values["models"]["tiny"]["engine"]["lmcacheMode"] = mode
    message = helm.refusal(values)
    assert "60Gi" in message
    assert "32Gi" in message


@pytest.mark.parametrize("amount, flagged", [("0.5Gi", "0.5"), ("512Mi", "0.5"), (536870912, "0.5"), ("1536Mi", "1.5")])
def test_07_a_fraction_of_a_gibibyte_is_kept(helm: Helm, amount: Any, flagged: str) -> None:
    """There: "0.5" went through an integer, became 0, and switched the tier off."""
    values = model(cache={"l1": {"memory": amount}}, resources={"lmcache": {"limits": {"memory": "4Gi"}}})
    assert flag(helm.template(values).container("lmcache")["args"], "--l1-size-gb") == flagged


def test_08_the_shared_tier_has_its_place(helm: Helm) -> None:
    """There: the size of the disk tier was set and its path never, so that there was none."""
    pod = helm.template().pod()
    lmcache = container(pod, "lmcache")
    base = json.loads(flag(lmcache["args"], "--l2-adapter"))["adapter_params"]["base_path"]
    mounts = {mount["name"]: mount for mount in lmcache["volumeMounts"]}
    # A link that the init container sets, and the volume that it leads to.
    assert f"{base}/".startswith(f"{mounts['run']['mountPath']}/")
    assert not mounts["l2"].get("readOnly")
    assert {"name": "l2", "persistentVolumeClaim": {"claimName": "kv"}} in pod["spec"]["volumes"]
    linked = container(pod, "l2-root")
    assert {"run", "l2"} <= {mount["name"] for mount in linked["volumeMounts"]}


ENGINES: list[Json] = [{}, {"maxModelLen": 8192}, {"args": ["--seed", "1"]}, {"env": {"A": "1"}}, {"args": None}]


@pytest.mark.parametrize("engine", ENGINES)
def test_09_engine_settings_leave_the_first_tier_on(helm: Helm, engine: Json) -> None:
    """There: any engine block that did not speak of prefix caching switched it off."""
    args = helm.template(model(engine=engine)).container("vllm")["args"]
    assert "--enable-prefix-caching" in args
    assert "--no-enable-prefix-caching" not in args


def test_10_a_tier_that_is_off_stays_off(helm: Helm) -> None:
    """There: a size beside `enabled: false` switched the host memory tier on."""
    off: Json = {"l1": {"enabled": False, "memory": "2Gi"}, "l2": {"enabled": False}}
    manifests = helm.template(model(cache=off))
    assert [each["name"] for each in manifests.pod()["spec"]["containers"]] == ["vllm"]
    assert "lmcache" not in json.dumps(manifests.container("vllm")["args"]).lower()
    assert environment(manifests.container("vllm")).get("LMCACHE_LOCAL_CPU", "false") == "false"


def test_11_a_disabled_model_leaves_no_object(helm: Helm) -> None:
    """There: a model with `enabled: false` still had its Service and its claim."""
    store: Json = {"modelStore": {"type": "hostPath", "hostPath": {"path": "/srv/models"}}}
    downloaded = {"source": SOURCES["huggingFace"], "autoscaling": {"enabled": True}, "enabled": False}
    assert helm.template(store, {"models": {"other": downloaded}}).text == helm.template(store).text
    assert helm.template({"models": {"tiny": {"enabled": False}}}).objects == []


NAMES = ("gateway", "verify", "storage", "drain", "router", "engine", "l2", "model-store", "tiny-engine", "tiny-router")


def test_12_names_are_legal_and_none_is_there_twice(helm: Helm) -> None:
    """There: a list with one name twice gave two Deployments of that name, and `Llama_3.1` an illegal one."""
    assert "rename the key, for example to llama-3-1" in helm.refusal({"models": {"Llama_3.1": OTHER}})
    for chosen in NAMES:
        values: Json = {"gateway": {"enabled": True}, "models": {chosen: OTHER}}
        try:
            manifests = helm.template(values)
        except Refused as refused:
            assert f'models: "{chosen}"' in str(refused)
            continue
        seen = [(each["kind"], each["metadata"]["name"]) for each in manifests.objects]
        assert len(seen) == len(set(seen)), chosen


def test_13_the_hash_seed_has_one_place(helm: Helm) -> None:
    """There: the seed was fixed, and a user's own stood beside it as a second variable of that name."""
    assert "cache.hashSeed" in helm.refusal(model(engine={"env": {"PYTHONHASHSEED": "7"}}))
    pod = helm.template(model(cache={"hashSeed": 7})).pod()
    for each in pod["spec"]["containers"]:
        assert [found["value"] for found in each["env"] if found["name"] == "PYTHONHASHSEED"] == ["7"]


def _selectors(node: Any) -> Iterator[Json]:
    """Every set of labels by which an object finds Pods."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("matchLabels", "selector") and isinstance(value, dict) and "matchLabels" not in value:
                yield value
            yield from _selectors(value)
    elif isinstance(node, list):
        for value in node:
            yield from _selectors(value)


def test_14_releases_in_one_namespace_find_their_own_pods(helm: Helm) -> None:
    """There: the router's selector did not hold the release, so that two releases served each other's models."""
    values: Json = {"gateway": {"enabled": True}}
    one, two = helm.template(values, release="one"), helm.template(values, release="two")
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in two.of("Deployment")]
    labels += [each["metadata"]["labels"] for each in two.of("Pod")]
    found = list(_selectors(one.objects))
    assert len(found) > 5
    for selector in found:
        assert not any(selector.items() <= of_pod.items() for of_pod in labels), selector
    for deployment in one.of("Deployment"):
        for each in deployment["spec"]["template"]["spec"]["containers"]:
            if "--selector" in each.get("args", []):
                assert "app.kubernetes.io/instance=one" in each["args"]


def test_15_no_token_in_values_and_no_right_to_change_pods(helm: Helm) -> None:
    """There: the Hugging Face token stood in the Pod's specification, and the router could patch every Pod."""
    plain: Json = {"claim": None, "huggingFace": {"id": "a/b", "revision": "0" * 40, "token": "hf_x"}}
    assert "token" in helm.refusal(model(source=plain))
    for name in ("HF_TOKEN", "VLLM_API_KEY"):
        assert name in helm.refusal(model(engine={"env": {name: "x"}}))
    assert "readable by everyone" in helm.refusal(model(engine={"args": ["--api-key", "x"]}))
    manifests = helm.template(KVAWARE)
    (role,) = [each for each in manifests.of("Role") if each["metadata"]["name"] == "demo-router"]
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} <= {"get", "list", "watch"}


IMAGES: dict[str, tuple[str, ...]] = {"engine": ("defaults", "engine"), "router": ("router",), "hooks": ("hooks",)}


@pytest.mark.parametrize("of", IMAGES)
def test_16_every_image_key_counts(helm: Helm, of: str) -> None:
    """There: an example set `repository` where the template read `image.repository`, and `latest` was deployed."""
    versions: Json = {"vllm": "0.32.0+cpu", "lmcache": "0.5.6"} if of == "engine" else {}
    image: Json = {
        "image": {"repository": "mirror.example/x", "tag": "v7"},
        **({"versions": versions} if versions else {}),
    }
    for part in reversed(IMAGES[of]):
        image = {part: image}
    assert "mirror.example/x:v7" in helm.template(image).text
    misplaced: Json = {"repository": "mirror.example/x"}
    for part in reversed(IMAGES[of]):
        misplaced = {part: misplaced}
    assert "repository" in helm.refusal(misplaced)


def test_17_every_port_that_is_told_is_open(helm: Helm) -> None:
    """There: engines were told a port of the router that its Service did not have."""
    manifests = helm.template(KVAWARE)
    vllm = manifests.container("vllm")
    events = json.loads(flag(vllm["args"], "--kv-events-config"))
    told = {int(events[key].rsplit(":", 1)[1]) for key in ("endpoint", "replay_endpoint")}
    assert len(told) == 2
    assert told <= {port["containerPort"] for port in vllm["ports"]}
    policy = manifests.get("NetworkPolicy", "demo-tiny-engine")
    router = {"app.kubernetes.io/component": "router"}
    opened = {
        port["port"]
        for rule in policy["spec"]["ingress"]
        if any(router.items() <= peer.get("podSelector", {}).get("matchLabels", {}).items() for peer in rule["from"])
        for port in rule["ports"]
    }
    assert told | {8000} <= opened
    # Services lead to ports that their Pods have.
    for service in manifests.of("Service"):
        for deployment in manifests.of("Deployment"):
            pod = deployment["spec"]["template"]
            if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items():
                names = {port["name"] for each in pod["spec"]["containers"] for port in each["ports"]}
                assert {port["targetPort"] for port in service["spec"]["ports"]} <= names


@pytest.mark.parametrize("ranks", [1, 2])
def test_18_shared_memory_is_always_there(helm: Helm, ranks: int) -> None:
    """There: /dev/shm was mounted only where tensor parallel was set, though every engine uses it."""
    pod = helm.template(_gpus(ranks)).pod()
    assert {"name": "shm", "mountPath": "/dev/shm"} in container(pod, "vllm")["volumeMounts"]
    (shm,) = [volume["emptyDir"] for volume in pod["spec"]["volumes"] if volume["name"] == "shm"]
    assert shm["medium"] == "Memory"
    assert int(shm["sizeLimit"].removesuffix("Mi")) >= 8 * 1024 + ranks * 256


def test_19_an_upgrade_needs_no_second_set_of_gpus(helm: Helm) -> None:
    """There: the rollout's default was all new Pods before any old one ends: twice the GPUs."""
    (engine,) = [
        each for each in helm.template(_gpus(2)).of("Deployment") if each["metadata"]["name"].endswith("-engine")
    ]
    assert engine["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_20_what_keeps_an_operator_safe_is_there(helm: Helm) -> None:
    """There: no refusal, no look-up, no helm test, no NetworkPolicy, no disruption budget, no spreading."""
    manifests = helm.template()
    assert "fix:" in helm.refusal(model(replicas=0))
    assert any("lookup " in file.read_text() for file in (CHART / "templates" / "validate").glob("*.tpl"))
    (proof,) = [each for each in manifests.of("Pod") if each["metadata"]["annotations"].get("helm.sh/hook") == "test"]
    assert proof["metadata"]["name"] == "demo-verify"
    assert manifests.get("NetworkPolicy", "demo-tiny-engine")
    assert manifests.get("PodDisruptionBudget", "demo-tiny-engine")
    (spread,) = manifests.pod()["spec"]["topologySpreadConstraints"]
    assert spread["topologyKey"] == "kubernetes.io/hostname"
