"""What a model becomes where AWS's Inference Operator runs the endpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.cases import (
    AMP,
    CASES,
    HYPERPOD,
    HYPERPOD_EVERYTHING,
    HYPERPOD_MULTI_PROCESS,
    ON_HYPERPOD,
    VALUES_FILES,
)
from chart.helm import Helm, Json, Manifests, environment, flag, model
from crds.endpoints import definition, endpoint_faults, without_newer

SERVED = "inference.sagemaker.aws.amazon.com/v1/InferenceEndpointConfig"
OWN_KINDS = {"Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "ScaledObject", "Pod"}
"""What the chart makes of a model elsewhere, and the operator does here."""


def endpoint(manifests: Manifests, name: str = "demo-tiny") -> Json:
    return manifests.get("InferenceEndpointConfig", name)


def spec(helm: Helm, *layers: Json) -> Json:
    found = endpoint(helm.template(HYPERPOD, *layers))["spec"]
    assert isinstance(found, dict)
    return found


def env(of: Json) -> dict[str, str]:
    return environment({"env": of["worker"]["environmentVariables"]})


def rendered(helm: Helm, case: str) -> Manifests:
    return helm.run("-f", "-", given=json.dumps(CASES[case]))


def component(found: Json) -> str:
    return str(found["metadata"]["labels"]["app.kubernetes.io/component"])


ENDPOINT_CASES = [name for name, values in CASES.items() if values.get("platform") == "hyperpod"]


@pytest.mark.parametrize("case", ENDPOINT_CASES)
def test_awss_definition_takes_every_endpoint(helm: Helm, case: str) -> None:
    manifests = rendered(helm, case)
    found = manifests.of("InferenceEndpointConfig")
    assert len(found) == len(CASES[case]["models"])
    for each in found:
        assert not endpoint_faults(each)
        # Only a case that says so has fields of newer operators.
        if not CASES[case].get("inferenceOperator"):
            assert without_newer(each) == each


@pytest.mark.parametrize("case", ENDPOINT_CASES)
def test_the_chart_makes_no_engine_of_its_own(helm: Helm, case: str) -> None:
    manifests = rendered(helm, case)
    # Of a model: the patch and a pool of this release have such objects themselves.
    mine = [
        each
        for each in manifests.objects
        if not str(component(each)).startswith(("l2-patch", "patch-check", "curvine"))
    ]
    assert not {found["kind"] for found in mine} & OWN_KINDS
    components = set(map(component, manifests.objects))
    assert not components & {"engine", "router", "gateway", "verify"}


def test_every_values_file_with_models_is_among_the_cases() -> None:
    for file in VALUES_FILES:
        values = yaml.safe_load(file.read_text())
        if values.get("models"):
            assert values.get("platform") == "hyperpod" or file.stem in ON_HYPERPOD, file.name


def test_a_wrong_field_is_seen(helm: Helm) -> None:
    found = json.loads(json.dumps(endpoint(helm.template(HYPERPOD))))
    found["spec"]["worker"]["volumeMounts"] = []
    found["spec"]["metrics"]["modelMetrics"]["port"] = 80
    assert len(endpoint_faults(found)) == 2


@pytest.mark.parametrize(
    ("platform", "served", "mode", "kind"),
    [
        ("auto", True, "detect", "InferenceEndpointConfig"),
        ("auto", False, "detect", "Deployment"),
        ("auto", True, "none", "Deployment"),
        (None, True, "detect", "InferenceEndpointConfig"),
        ("kubernetes", True, "detect", "Deployment"),
        ("hyperpod", False, "detect", "InferenceEndpointConfig"),
    ],
)
def test_the_platform_is_chosen(helm: Helm, platform: str | None, served: bool, mode: str, kind: str) -> None:
    extra = ("--api-versions", SERVED) if served else ()
    values: Json = {"platform": platform, "inferenceOperator": {"mode": mode}}
    manifests = helm.template(HYPERPOD, values, extra=extra)
    engines = [
        found["kind"]
        for found in manifests.objects
        if found["metadata"]["labels"].get("app.kubernetes.io/component") in ("engine", "endpoint")
        and found["kind"] in ("Deployment", "InferenceEndpointConfig")
    ]
    assert engines == [kind]


def test_the_walkthrough_value_by_value(helm: Helm) -> None:
    """The walkthrough's resource, as its facts give it; arguments and environment may be more."""
    found = rendered(helm, "hyperpod").get("InferenceEndpointConfig", "demo-qwen2-7b-instruct-kvcache")["spec"]
    assert found["replicas"] == 2
    assert found["instanceType"] == "ml.g6e.4xlarge"
    assert found["invocationEndpoint"] == "v1/chat/completions"
    source = found["modelSourceConfig"]
    assert source["modelSourceType"] == "huggingface"
    assert source["huggingFaceModel"]["modelId"] == "Qwen/Qwen2-7B-Instruct"
    assert source["prefetchEnabled"] is True
    assert found["kvCacheSpec"] == {
        "enableL1Cache": True,
        "enableL2Cache": True,
        "l2CacheSpec": {"l2CacheBackend": "tieredstorage"},
    }
    assert found["intelligentRoutingSpec"] == {"enabled": True, "routingStrategy": "prefixaware"}
    assert found["metrics"]["modelMetrics"] == {"path": "/metrics", "port": 8000}
    assert found["loadBalancer"]["healthCheckPath"] == "/health"
    worker = found["worker"]
    assert worker["args"][0] == "/opt/ml/model"
    assert flag(worker["args"], "--max-model-len") == "16384"
    assert "--tensor-parallel-size" not in worker["args"]
    assert worker["resources"]["requests"] == {"cpu": "8", "memory": "32Gi"}
    assert worker["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert env(found)["LMCACHE_REMOTE_SERDE"] == "naive"
    assert env(found)["PYTHONHASHSEED"] == "0"
    assert [each["persistentVolumeClaim"] for each in found["kubernetes"]["volumes"] if each["name"] == "tkc-l2"] == [
        {"claimName": "curvine-pvc"}
    ]


def test_the_operator_writes_the_transfer_config(helm: Helm) -> None:
    for case in ENDPOINT_CASES:
        for found in rendered(helm, case).of("InferenceEndpointConfig"):
            arguments = found["spec"]["worker"]["args"]
            assert not {
                "--kv-transfer-config",
                "--enable-prefix-caching",
                "--shutdown-timeout",
                "--kv-events-config",
                "--enable-scale-out",
            } & set(arguments)
            assert found["spec"]["worker"]["command"] == ["vllm", "serve"]


def test_l0_off_is_said(helm: Helm) -> None:
    off = model(cache={"l0": {"enabled": False}})
    assert "--no-enable-prefix-caching" in spec(helm, off)["worker"]["args"]


def test_ports_agree(helm: Helm) -> None:
    found = spec(helm)
    assert (
        flag(found["worker"]["args"], "--port")
        == str(found["worker"]["modelInvocationPort"]["containerPort"])
        == str(found["metrics"]["modelMetrics"]["port"])
    )
    probes = found["worker"]["probes"]
    assert {probes[kind]["httpGet"]["port"] for kind in ("readinessProbe", "livenessProbe")} == {8000}
    assert probes["readinessProbe"]["timeoutSeconds"] >= 5


def test_l2_root_reads_the_weights_where_the_worker_has_them(helm: Helm) -> None:
    found = spec(helm, model(hyperpod={"modelVolume": "weights"}))
    (root,) = found["kubernetes"]["initContainers"]
    assert root["name"] == "tkc-l2-root"
    assert root["args"][0] == "l2-root"
    assert flag(root["args"], "--weights") == found["worker"]["args"][0] == "/opt/ml/model/tiny"
    assert flag(root["args"], "--link") == "/run/tkc/l2"
    assert root["volumeMounts"] == [
        {"name": "tkc-l2", "mountPath": "/mnt/kv-l2"},
        {"name": "tkc-run", "mountPath": "/run/tkc"},
        {"name": "weights", "mountPath": "/opt/ml/model", "readOnly": True},
    ]
    assert found["worker"]["modelVolumeMount"] == {"name": "weights", "mountPath": "/opt/ml/model"}
    assert root["securityContext"]["runAsUser"] == 10001
    assert root["securityContext"]["runAsNonRoot"] is True
    assert root["securityContext"]["readOnlyRootFilesystem"] is True
    names = [volume["name"] for volume in found["kubernetes"]["volumes"]]
    assert names == ["weights", "tkc-l2", "tkc-run"]
    config = json.loads(environment(root)["TKC_L2_CONFIG"])
    assert config["modelPath"] == "/opt/ml/model/tiny"
    assert config["lmcacheMode"] == "inProcess"
    assert config["hashAlgorithm"] == "builtin"


def test_without_l2_nothing_of_it_is_there(helm: Helm) -> None:
    found = spec(helm, model(cache={"l2": {"enabled": False}}, source={"claim": None, "huggingFace": HUB}))
    assert "kubernetes" not in found
    assert found["kvCacheSpec"] == {"enableL1Cache": True, "enableL2Cache": False}
    assert "LMCACHE_REMOTE_SERDE" not in env(found)


HUB: Json = {"id": "org/Model", "revision": "0123456789" * 4}


def test_multi_process_brings_the_adapters_code(helm: Helm) -> None:
    found = endpoint(helm.template(HYPERPOD_MULTI_PROCESS))["spec"]
    assert [each["name"] for each in found["kubernetes"]["initContainers"]] == ["tkc-code", "tkc-l2-root"]
    code = found["kubernetes"]["initContainers"][0]
    assert code["args"] == ["copy-code", "--to", "/run/tkc/code"]
    assert code["volumeMounts"] == [{"name": "tkc-run", "mountPath": "/run/tkc"}]
    assert found["kvCacheSpec"]["lmcache"] == {"mode": "MultiProcess"}
    assert "LMCACHE_REMOTE_SERDE" not in env(found)
    plain = endpoint(helm.template(HYPERPOD_MULTI_PROCESS, model(cache={"l2": {"adapter": "fs"}})))["spec"]
    assert [each["name"] for each in plain["kubernetes"]["initContainers"]] == ["tkc-l2-root"]


def test_environment_is_plain_but_for_the_key(helm: Helm) -> None:
    """The operator copies plain values to its router, and nothing else."""
    found = spec(helm)
    assert all(set(each) == {"name", "value"} for each in found["worker"]["environmentVariables"])
    assert not {"HOME", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "POD_NAME"} & env(found).keys()
    keyed = spec(helm, {"apiKey": {"secretName": "key"}}, model(hyperpod={"intelligentRouting": False}))
    (key,) = [each for each in keyed["worker"]["environmentVariables"] if "valueFrom" in each]
    assert key["name"] == "VLLM_API_KEY"
    assert "intelligentRoutingSpec" not in keyed


@pytest.mark.parametrize(("chunk", "wanted"), [(256, None), (1024, "1024")])
def test_chunk_size_is_said_where_it_is_not_the_default(helm: Helm, chunk: int, wanted: str | None) -> None:
    assert env(spec(helm, model(cache={"chunkSize": chunk}))).get("LMCACHE_CHUNK_SIZE") == wanted


@pytest.mark.parametrize("strategy", ["roundrobin", "session", "prefixaware", "kvaware"])
def test_routing_strategies_have_the_same_names(helm: Helm, strategy: str) -> None:
    found = spec(helm, model(routing={"strategy": strategy}, hyperpod={"invocationEndpoint": "v1/completions"}))
    assert found["intelligentRoutingSpec"] == {"enabled": True, "routingStrategy": strategy}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ({"huggingFace": HUB}, {"modelSourceType": "huggingface", "prefetchEnabled": True}),
        ({"s3": {"bucket": "b-1", "region": "eu-west-1"}}, {"modelSourceType": "s3", "prefetchEnabled": False}),
        (
            {"s3": {"bucket": "b-1", "region": "eu-west-1", "prefix": "/m/tiny/", "mode": "mountpoint"}},
            {"modelLocation": "m/tiny", "s3Storage": {"bucketName": "b-1", "region": "eu-west-1"}},
        ),
        (
            {"fsx": {"fileSystemId": "fs-0123456789abcdef0", "dnsName": "a.b", "mountName": "m", "path": "m/tiny"}},
            {
                "modelSourceType": "fsx",
                "modelLocation": "m/tiny",
                "fsxStorage": {"fileSystemId": "fs-0123456789abcdef0", "dnsName": "a.b", "mountName": "m"},
            },
        ),
        ({"claim": {"name": "models"}}, {"modelSourceType": "kubernetesVolume", "prefetchEnabled": False}),
    ],
)
def test_sources(helm: Helm, source: Json, wanted: Json) -> None:
    found = spec(helm, model(source={"claim": None, **source}))["modelSourceConfig"]
    assert found.items() >= wanted.items()


def test_the_hubs_token_is_named(helm: Helm) -> None:
    source = {"claim": None, "huggingFace": {**HUB, "tokenSecret": {"name": "hub"}}}
    found = spec(helm, model(source=source))["modelSourceConfig"]["huggingFaceModel"]
    assert found["tokenSecretRef"] == {"name": "hub", "key": "token"}
    assert found["commitSHA"] == HUB["revision"]


def test_nodes_are_chosen_in_one_way(helm: Helm) -> None:
    one = spec(helm)
    several = spec(helm, model(instanceTypes=["g6e.4xlarge", "ml.g6e.8xlarge"]))
    by_label = rendered(helm, "hyperpod-fsx").of("InferenceEndpointConfig")[0]["spec"]
    assert one["instanceType"] == "ml.g6e.4xlarge"
    assert several["instanceTypes"] == ["ml.g6e.4xlarge", "ml.g6e.8xlarge"]
    for found in (one, several, by_label):
        assert len({"instanceType", "instanceTypes", "nodeAffinity"} & found.keys()) == 1
    assert helm.template(HYPERPOD).pod("keeper")["spec"]["affinity"]["nodeAffinity"], "the keeper runs beside them"


def test_autoscaling_goes_to_the_operator(helm: Helm) -> None:
    found = endpoint(rendered(helm, "hyperpod-everything"))["spec"]
    scaling = found["autoScalingSpec"]
    assert "replicas" not in found
    assert (scaling["minReplicaCount"], scaling["maxReplicaCount"]) == (2, 1000000)
    assert [each["serverAddress"] for each in scaling["prometheusTriggerList"]] == [AMP, AMP]
    assert scaling["prometheusTriggerList"][1] == {
        "name": "keda",
        "serverAddress": AMP,
        "query": 'sum(a{b="c"})',
        "targetValue": 1000000,
    }
    assert scaling["cloudWatchTriggerList"][0]["dimensions"] == [{"name": "EndpointName", "value": "tiny-1"}]
    assert "metricStat" not in scaling["cloudWatchTriggerList"][0], "null is no value"
    assert scaling["initialCooldownPeriod"] == 0


def test_everything_arrives(helm: Helm) -> None:
    found = endpoint(rendered(helm, "hyperpod-everything"))
    own: dict[str, Any] = HYPERPOD_EVERYTHING["models"]["tiny"]["hyperpod"]
    assert found["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "retail"
    body = found["spec"]
    for key in ("endpointName", "modelVersion", "maxDeployTimeInSeconds", "tlsConfig", "dnsConfig"):
        assert body[key] == own[key]
    assert body["worker"]["requestLimits"] == own["requestLimits"]
    assert body["loadBalancer"] == {"healthCheckPath": "/health", **own["loadBalancer"]}
    assert body["tags"] == [{"name": "team", "value": "retail"}]
    assert body["metrics"]["metricsScrapeIntervalSeconds"] == 300
    pod = body["kubernetes"]
    assert (pod["serviceAccountName"], pod["schedulerName"]) == ("engine", "kueue")
    assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert pod["podTemplateAnnotations"] == {"example.com/note": "a: b"}
    assert pod["priorityClassName"] == "high"
    assert body["kvCacheSpec"]["lmcache"] == {"mode": "InProcess"}
    capture = body["dataCapture"]
    assert capture["loadBalancer"] == {"enabled": True}
    assert capture["sagemakerEndpoint"]["captureOptions"] == [{"captureMode": "Input"}]
    assert capture["sagemakerEndpoint"]["captureContentTypeHeader"] == {"csvContentTypes": ["text/csv"]}
    assert capture["modelPod"] == {
        "enabled": True,
        "initialSamplingPercentage": 100,
        "payloadConfig": {"maxPayloadSizeKB": 10240},
        "bufferConfig": {"batchSize": 1000, "flushIntervalSeconds": 300},
    }


def test_a_slow_start_gets_its_time(helm: Helm) -> None:
    assert spec(helm)["maxDeployTimeInSeconds"] == 3600
    assert spec(helm, model(probes={"startup": {"budget": 7200}}))["maxDeployTimeInSeconds"] > 7200


def test_labels_have_no_version(helm: Helm) -> None:
    """Whether the operator hands them on to its Pods is not known, and a new chart must not restart engines."""
    labels = endpoint(helm.template(HYPERPOD))["metadata"]["labels"]
    assert not [name for name in labels if "version" in name or "chart" in name]


def test_definitions_of_the_other_kinds_are_awss() -> None:
    for plural in ("inferenceendpointconfigs", "jumpstartmodels", "sagemakerendpointregistrations"):
        found = definition(plural)
        assert found["kind"] == "CustomResourceDefinition"
        assert "conversion" not in found["spec"]
    assert (Path(__file__).parents[1] / "crds" / "LICENSE").read_text().count("Apache License")
