"""The Pod of `helm test`: what it is told, where it runs, and what it may hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, environment, model
from tiered_kv_cache.verify import config

OTHER: Json = {"models": {"other": {"source": {"claim": {"name": "models", "subPath": "other"}}}}}


def pod(manifests: Manifests) -> Json:
    return manifests.get("Pod", "demo-verify")


def told(manifests: Manifests) -> Json:
    return dict(json.loads(environment(pod(manifests)["spec"]["containers"][0])["TKC_VERIFY"]))


def test_it_is_told_what_the_engines_are_rendered_with(helm: Helm) -> None:
    manifests = helm.template(model(routing={"strategy": "prefixaware"}, replicas=3, servedName="tiny-chat"))
    (found,) = told(manifests)["models"]
    engine = manifests.get("Deployment", "demo-tiny-engine")
    annotations = engine["spec"]["template"]["metadata"]["annotations"]
    assert found == {
        "name": "tiny",
        "servedName": "tiny-chat",
        "deployment": "demo-tiny-engine",
        "replicas": 3,
        "chunkSize": 256,
        "l0": True,
        "l1": True,
        "l2": True,
        "mode": "multiProcess",
        "ranks": 1,
        "strategy": "prefixaware",
        "dtype": "float32",
        "l2Parent": "/mnt/kv-l2/v1/retail/tiny",
        "configHash": annotations["tiered-kv-cache.io/config-hash"],
    }


NO_CACHE: Json = model(cache={"l1": {"enabled": False}, "l2": {"enabled": False}})
GPUS: Json = model(
    engine={"device": "cuda", "tensorParallelSize": 2, "lmcacheMode": "inProcess", "dtype": "bfloat16"},
    resources={"engine": {"limits": {"memory": "64Gi"}}},
)


@pytest.mark.parametrize("layer", [{}, NO_CACHE, GPUS], ids=["plain", "no cache", "in-process"])
def test_it_understands_what_it_is_told(helm: Helm, layer: Json) -> None:

    text = json.dumps(told(helm.template(OTHER, layer, {"apiKey": {"secretName": "keys"}})))
    settings = config.parse(text, "TKC_VERIFY")
    assert [m.name for m in settings.models] == ["other", "tiny"]
    assert settings.api_key_secret == "keys/api-key"


def test_autoscaled_models_have_no_number(helm: Helm) -> None:
    scaling = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "type": "keda"}
    keda = {"serverAddress": "http://prometheus:9090", "query": "sum(x)", "threshold": "5"}
    (found,) = told(helm.template(model(autoscaling=scaling | {"keda": keda})))["models"]
    assert (found["replicas"], found["minReplicas"]) == (None, 1)


def test_the_api_key_comes_from_its_secret(helm: Helm) -> None:
    (verify,) = pod(helm.template({"apiKey": {"secretName": "keys", "key": "k"}}))["spec"]["containers"]
    (found,) = [e for e in verify["env"] if e["name"] == "VLLM_API_KEY"]
    assert found["valueFrom"] == {"secretKeyRef": {"name": "keys", "key": "k", "optional": True}}
    (verify,) = pod(helm.template())["spec"]["containers"]
    assert "VLLM_API_KEY" not in [e["name"] for e in verify["env"]]


KEY = {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
OWN = {"key": "lob", "operator": "Exists"}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
NODES: Json = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [ZONE]}]}
    }
}
PODS: Json = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
PLACES: list[tuple[str, list[Json], Json]] = [
    ("none", [], {}),
    (
        "of defaults",
        [{"defaults": {"tolerations": [KEY], "nodeSelector": {"pool": "gpu"}, "affinity": NODES | PODS}}],
        {"tolerations": [KEY], "nodeSelector": {"pool": "gpu"}, "affinity": NODES},
    ),
    (
        "what models agree on, and what any tolerates",
        [
            {"defaults": {"tolerations": [KEY], "nodeSelector": {"pool": "gpu", "disk": "nvme"}}},
            {"models": {"other": {"tolerations": [KEY, OWN], "nodeSelector": {"pool": "big"}, "affinity": NODES}}},
        ],
        {"tolerations": [KEY, OWN], "nodeSelector": {"disk": "nvme"}},
    ),
    (
        "only one has a selector",
        [{"models": {"tiny": {"nodeSelector": {"pool": "gpu"}, "instanceTypes": ["p5.48xlarge"]}}}],
        {},
    ),
]


@pytest.mark.parametrize(("layers", "wanted"), [p[1:] for p in PLACES], ids=[p[0] for p in PLACES])
def test_it_runs_where_the_engines_do(helm: Helm, layers: list[Json], wanted: Json) -> None:
    spec = pod(helm.template(OTHER, *layers))["spec"]
    assert {k: v for k, v in spec.items() if k in ("tolerations", "nodeSelector", "affinity")} == wanted


def test_instance_types_of_all_models_are_its_own(helm: Helm) -> None:
    spec = pod(helm.template(OTHER, {"defaults": {"instanceTypes": ["p5.48xlarge"]}}))["spec"]
    assert "p5.48xlarge" in json.dumps(spec["affinity"]["nodeAffinity"])


@pytest.mark.parametrize("layers", [[], [OTHER, {"apiKey": {"secretName": "keys"}}]])
def test_every_container_has_requests_and_limits(helm: Helm, layers: list[Json]) -> None:
    """A quota on either side refuses a Pod that lacks it, and a LimitRange would fill it in with its own."""
    spec: dict[str, Any] = pod(helm.template(*layers))["spec"]
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        for side in ("requests", "limits"):
            assert {"cpu", "memory"} <= container["resources"][side].keys(), container["name"]
