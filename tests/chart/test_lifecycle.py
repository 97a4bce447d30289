"""How many Pods there are, how they start, are replaced, moved and end."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from chart.apiserver import KEDA, serve
from chart.helm import CHART, Helm, Json, Manifests, Refused, model
from chart.test_live import ACCOUNT, KV, MODELS, live_options

ENGINE = "demo-tiny-engine"
PROMETHEUS = {"serverAddress": "http://prometheus:9090", "query": "sum(waiting)", "threshold": 5}


def keda(**changes: Any) -> Json:
    """A model that KEDA scales."""
    return model(autoscaling={"enabled": True, "keda": {**PROMETHEUS, **changes.pop("keda", {})}, **changes})


def hpa(*metrics: Json) -> Json:
    """A model that a HorizontalPodAutoscaler scales."""
    return model(autoscaling={"enabled": True, "type": "hpa", "hpa": {"metrics": list(metrics)}})


CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def deployment(manifests: Manifests) -> Json:
    """spec of the engine's Deployment."""
    found = manifests.get("Deployment", ENGINE)["spec"]
    assert isinstance(found, dict)
    return found


# Refusals

REFUSED: dict[str, tuple[Json, list[str]]] = {
    "replicas beside autoscaling": (
        model(replicas=3, autoscaling={"enabled": True, "keda": PROMETHEUS}),
        ["models.tiny.replicas: 3", "autoscaling decides", "autoscaling.minReplicas"],
    ),
    "fewest above most": (
        keda(minReplicas=9),
        ["models.tiny.autoscaling.minReplicas: 9", "autoscaling.maxReplicas: 4", "raise maxReplicas"],
    ),
    "no Prometheus": (
        keda(keda={"serverAddress": "prometheus:9090"}),
        ['models.tiny.autoscaling.keda.serverAddress: "prometheus:9090"', "http://prometheus-server.monitoring:9090"],
    ),
    "no query": (
        keda(keda={"query": "  "}),
        ['models.tiny.autoscaling.keda.query: "  "', 'sum(vllm:num_requests_waiting{model_name="tiny"})'],
    ),
    "no threshold": (
        keda(keda={"threshold": ""}),
        ['models.tiny.autoscaling.keda.threshold: ""', "not a number above 0", "for example 5"],
    ),
    "threshold of zero": (keda(keda={"threshold": 0}), ["models.tiny.autoscaling.keda.threshold: 0", "above 0"]),
    "cooldown beyond Kubernetes": (
        keda(keda={"cooldownPeriod": 3601}),
        ["models.tiny.autoscaling.keda.cooldownPeriod: 3601", "an hour at most", "3600 or less"],
    ),
    "fallback outside the bounds": (
        keda(keda={"fallbackReplicas": 5}),
        ["models.tiny.autoscaling.keda.fallbackReplicas: 5", "minReplicas (1) and maxReplicas (4)", "leave it out"],
    ),
    "illegal name of an authentication": (
        keda(keda={"authenticationRef": "No_Name"}),
        ['models.tiny.autoscaling.keda.authenticationRef: "No_Name"', "existing TriggerAuthentication"],
    ),
    "metrics of the other scaler": (
        keda(hpa={"metrics": [CPU]}),
        ["models.tiny.autoscaling.hpa.metrics", "autoscaling.type is keda", "set autoscaling.type: hpa"],
    ),
    "query of the other scaler": (
        model(autoscaling={"enabled": True, "type": "hpa", "hpa": {"metrics": [CPU]}, "keda": {"query": "x"}}),
        ['models.tiny.autoscaling.keda.query: "x"', "autoscaling.type is hpa", "set autoscaling.type: keda"],
    ),
    "no metrics": (hpa(), ["models.tiny.autoscaling.hpa.metrics: []", "nothing would be scaled", "autoscaling/v2"]),
    "metric without its block": (
        hpa({"type": "ContainerResource"}),
        ["models.tiny.autoscaling.hpa.metrics", "the block containerResource is missing"],
    ),
    "rollout that cannot move": (
        model(rollout={"maxUnavailable": 0}),
        ["models.tiny.rollout.maxUnavailable: 0", "rollout.maxSurge 0 as well", "set maxUnavailable to 1"],
    ),
    "rollout as an outage": (
        model(rollout={"maxUnavailable": 2}),
        ["models.tiny.rollout.maxUnavailable: 2", "has 2 Pods", "set it to 1 or less"],
    ),
    "drain as an outage": (
        model(replicas=3, disruption={"maxUnavailable": 3}),
        ["models.tiny.disruption.maxUnavailable: 3", "has 3 Pods", "2 or less, or disruption.enabled: false"],
    ),
    "grace shorter than preStop": (
        model(terminationGracePeriodSeconds=15),
        ["models.tiny.terminationGracePeriodSeconds: 15", "10 s pass", "20 or more"],
    ),
    "try longer than the budget": (
        model(probes={"startup": {"budget": 60, "timeoutSeconds": 90}}),
        ["models.tiny.probes.startup.timeoutSeconds: 90", "probes.startup.budget: 60", "raise the budget"],
    ),
    "illegal priority class": (
        model(priorityClassName="High!"),
        ['models.tiny.priorityClassName: "High!"', "name of an existing PriorityClass"],
    ),
    "illegal runtime class": (
        model(runtimeClassName="Nvidia"),
        ['models.tiny.runtimeClassName: "Nvidia"', "name of an existing RuntimeClass"],
    ),
    "label of the chart": (
        model(podLabels={"app.kubernetes.io/instance": "other"}),
        ['models.tiny.podLabels: "app.kubernetes.io/instance"', "budgets find the Pods by it", "another name"],
    ),
    "label in the chart's domain": (
        model(podLabels={"tiered-kv-cache.io/model": "x"}),
        ['models.tiny.podLabels: "tiered-kv-cache.io/model"', "another name"],
    ),
    "label of the cluster": (model(podLabels={"pod-template-hash": "x"}), ['"pod-template-hash"', "another name"]),
    "label value too long": (
        model(podLabels={"team": "x" * 64}),
        ["models.tiny.podLabels", "at most 63", "shorten it"],
    ),
    "label name too long": (model(podLabels={"x" * 64: "1"}), ["models.tiny.podLabels", "at most 63 characters"]),
    "annotation without a DNS name": (
        model(podAnnotations={"-a/b": "1"}),
        ['models.tiny.podAnnotations: "-a/b"', "example.com/team"],
    ),
    "selector value illegal": (
        model(nodeSelector={"pool": "a b"}),
        ['models.tiny.nodeSelector: {"pool":"a b"}', "value of a label"],
    ),
    "routers' nodes": (
        model(routing={"nodeSelector": {"pool": "a b"}}),
        ['models.tiny.routing.nodeSelector: {"pool":"a b"}', "value of a label"],
    ),
    "key of routers' nodes": (
        {"defaults": {"routing": {"nodeSelector": {"a..b/c": "x"}}}},
        ['defaults.routing.nodeSelector: "a..b/c"', "no legal key"],
    ),
    "instance type illegal": (
        model(instanceTypes=["p5 48xlarge"]),
        ["models.tiny.instanceTypes", "value of a label"],
    ),
    "instance type against the selector": (
        model(instanceTypes=["a"], nodeSelector={"node.kubernetes.io/instance-type": "b"}),
        ['models.tiny.instanceTypes: ["a"]', "no node would do", "keep one of the two"],
    ),
    "toleration with a value too many": (
        model(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        ["models.tiny.tolerations", "Exists takes no value", "kubectl taint"],
    ),
    "toleration without a key": (
        model(tolerations=[{"effect": "NoSchedule"}]),
        ["models.tiny.tolerations", "operator must be Exists"],
    ),
    "toleration of a key that no taint has": (
        model(tolerations=[{"key": "a b"}]),
        ["models.tiny.tolerations", "no taint can have this key"],
    ),
    "toleration of a value that no taint has": (
        model(tolerations=[{"key": "a", "value": "b!"}]),
        ["models.tiny.tolerations", "no taint can have this value"],
    ),
    "toleration seconds for nothing": (
        model(tolerations=[{"key": "a", "tolerationSeconds": 5}]),
        ["models.tiny.tolerations", "needs effect NoExecute"],
    ),
    "key in place of a Secret's name": (
        {"apiKey": {"secretName": "sk-Secret_123"}},
        ['apiKey.secretName: "(not shown)"', "no Secret can have this name", "kubectl create secret"],
    ),
    "illegal key of a Secret": (
        {"apiKey": {"secretName": "key", "key": "a b"}},
        ['apiKey.key: "a b"', "no key of a Secret", "kubectl get secret key"],
    ),
    "API key in env": (
        model(engine={"env": {"VLLM_API_KEY": "secret"}}),
        ["models.tiny.engine.env.VLLM_API_KEY", "apiKey"],
    ),
    "API key in args": (
        model(engine={"args": ["--api-key", "secret"]}),
        ["models.tiny.engine.args", "readable by everyone"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    helm.assert_refused(*REFUSED[case])


def test_a_wrong_secret_name_is_not_repeated(helm: Helm) -> None:
    """It may be the key itself."""
    assert "sk-Secret_123" not in helm.refusal({"apiKey": {"secretName": "sk-Secret_123"}})


NEEDED = [
    ("autoscaling.minReplicas", keda(minReplicas=None)),
    ("autoscaling.keda.pollingInterval", keda(keda={"pollingInterval": None})),
    ("autoscaling.hpa.metrics", model(autoscaling={"enabled": True, "type": "hpa", "hpa": None})),
    ("disruption.maxUnavailable", model(disruption={"maxUnavailable": None})),
    ("spread.maxSkew", model(spread={"maxSkew": None})),
    ("rollout.maxSurge", model(rollout={"maxSurge": None})),
    ("probes.liveness.timeoutSeconds", model(probes={"liveness": {"timeoutSeconds": None}})),
]


@pytest.mark.parametrize(("path", "values"), NEEDED, ids=[path for path, _ in NEEDED])
def test_null_where_a_value_is_needed_names_the_key(helm: Helm, path: str, values: Json) -> None:
    assert f"models.tiny.{path}: not given" in helm.refusal(values)


# Live look-ups

SECRET = {"secrets/tiered-kv-cache/key": {"data": {"token": "eA=="}}}


def test_the_secret_must_exist_with_its_key(helm: Helm) -> None:
    with serve({**ACCOUNT, **KV, **MODELS}) as url:
        message = helm.refusal({"apiKey": {"secretName": "key"}}, extra=live_options(url))
        assert 'apiKey.secretName: "key"' in message
        assert "kubectl create secret generic key -n tiered-kv-cache --from-literal=api-key=" in message
    with serve({**ACCOUNT, **KV, **MODELS, **SECRET}) as url:
        message = helm.refusal({"apiKey": {"secretName": "key"}}, extra=live_options(url))
        assert 'apiKey.key: "api-key"' in message
        assert "use one of: token" in message
        assert helm.template({"apiKey": {"secretName": "key", "key": "token"}}, extra=live_options(url)).objects


def test_a_cluster_without_keda_is_named(helm: Helm) -> None:
    with serve({**ACCOUNT, **KV, **MODELS}) as url:
        message = helm.refusal(keda(), extra=live_options(url))
        assert 'defaults.autoscaling.type: "keda"' in message
        assert "no KEDA" in message
        assert helm.template(hpa(CPU), extra=live_options(url)).objects
    with serve({**ACCOUNT, **KV, **MODELS}, more=KEDA) as url:
        assert helm.template(keda(), extra=live_options(url)).objects


# Autoscaling


def test_replicas_are_left_out_where_something_else_sets_them(helm: Helm) -> None:
    assert deployment(helm.template())["replicas"] == 2
    assert "replicas" not in deployment(helm.template(keda()))
    assert "replicas" not in deployment(helm.template(hpa(CPU)))
    assert not [
        found for found in helm.template().objects if found["kind"] in ("ScaledObject", "HorizontalPodAutoscaler")
    ]


def test_a_number_may_be_deleted_for_an_autoscaler(helm: Helm) -> None:
    """An overlay that switches autoscaling on may delete what it inherits, in the model and in the defaults."""
    scaled = helm.template(keda(minReplicas=2))
    for layer in (model(replicas=None), {"defaults": {"replicas": None}}, {"defaults": {"replicas": None}, **model()}):
        manifests = helm.template(layer, keda(minReplicas=2))
        assert "replicas" not in deployment(manifests)
        assert manifests.objects == scaled.objects
    assert (
        helm.template(model(replicas=None), keda(minReplicas=3)).get("ScaledObject", ENGINE)["spec"]["fallback"][
            "replicas"
        ]
        == 3
    )
    # Autoscaling may come from the defaults as well.
    everywhere = {"defaults": {"replicas": None, "autoscaling": keda()["models"]["tiny"]["autoscaling"]}}
    assert "replicas" not in deployment(helm.template(everywhere))


def test_without_an_autoscaler_the_number_is_needed(helm: Helm) -> None:
    helm.assert_refused(model(replicas=None), ["models.tiny.replicas: not given", "needs a value"])


def test_a_platforms_number_is_deleted_by_an_overlay(helm: Helm, helm_other: Helm, tmp_path: Path) -> None:
    platform, overlay = tmp_path / "platform.yaml", tmp_path / "overlay.yaml"
    platform.write_text(
        "lineOfBusiness: retail\nl2: {volume: {claimName: kv}}\n"
        "models: {tiny: {source: {claim: {name: m}}, replicas: 3}}\n"
    )
    scaling = json.dumps(keda()["models"]["tiny"]["autoscaling"])
    overlay.write_text(f"models: {{tiny: {{replicas: null, autoscaling: {scaling}}}}}\n")
    for each in (helm, helm_other):
        assert "replicas" not in deployment(each.template(files=(platform, overlay)))
    # Without the null the message tells it.
    overlay.write_text(f"models: {{tiny: {{autoscaling: {scaling}}}}}\n")
    with pytest.raises(Refused) as refused:
        Helm(helm.path).template(files=(platform, overlay, overlay))
    assert "models.tiny.replicas: 3" in str(refused.value)
    assert "an overlay deletes an inherited one with null" in str(refused.value)


def test_scaled_object(helm: Helm) -> None:
    spec = helm.template(keda(maxReplicas=6, keda={"threshold": 1000000, "authenticationRef": "mimir"})).get(
        "ScaledObject", ENGINE
    )["spec"]
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": ENGINE}
    assert (spec["minReplicaCount"], spec["maxReplicaCount"], spec["pollingInterval"]) == (1, 6, 15)
    assert spec["fallback"] == {"failureThreshold": 3, "replicas": 2, "behavior": "currentReplicasIfHigher"}
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 300
    (trigger,) = spec["triggers"]
    assert trigger == {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": "http://prometheus:9090",
            "query": "sum(waiting)",
            "threshold": "1000000",
            "ignoreNullValues": "false",
        },
        "authenticationRef": {"name": "mimir"},
    }


@pytest.mark.parametrize(
    ("layers", "replicas"),
    [
        ([keda()], 2),
        ([keda(minReplicas=3)], 3),
        ([keda(), {"defaults": {"replicas": 9}}], 4),
        ([keda(keda={"fallbackReplicas": 3})], 3),
    ],
    ids=["replicas", "fewest", "never above most", "given"],
)
def test_pods_while_the_metric_is_missing(helm: Helm, layers: list[Json], replicas: int) -> None:
    assert helm.template(*layers).get("ScaledObject", ENGINE)["spec"]["fallback"]["replicas"] == replicas


def test_horizontal_pod_autoscaler(helm: Helm) -> None:
    custom = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": 1000000}}}
    spec = helm.template(hpa(CPU, custom)).get("HorizontalPodAutoscaler", ENGINE)["spec"]
    assert spec["metrics"] == [CPU, custom]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 4)


# Rollout and disruption


def test_an_upgrade_needs_no_spare_gpu(helm: Helm) -> None:
    assert deployment(helm.template())["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
    }
    given = deployment(helm.template(model(replicas=4, rollout={"maxSurge": 2, "maxUnavailable": 3})))["strategy"]
    assert given["rollingUpdate"] == {"maxSurge": 2, "maxUnavailable": 3}


def test_a_single_pod_may_be_replaced(helm: Helm) -> None:
    assert deployment(helm.template(model(replicas=1)))["strategy"]["rollingUpdate"]["maxUnavailable"] == 1


def test_disruption_budget(helm: Helm) -> None:
    manifests = helm.template()
    spec = manifests.get("PodDisruptionBudget", ENGINE)["spec"]
    assert spec["maxUnavailable"] == 1
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert spec["selector"] == deployment(manifests)["selector"]


@pytest.mark.parametrize(
    ("values", "budgets"),
    [
        (model(replicas=1), 0),
        (model(disruption={"enabled": False}), 0),
        (model(disruption=None), 0),
        ({"defaults": {"disruption": None}}, 0),
        (keda(), 1),
        (keda(maxReplicas=1), 0),
    ],
    ids=["one Pod", "off", "null in the model", "null in the defaults", "scaled", "scaled, never two"],
)
def test_a_single_pod_has_no_budget(helm: Helm, values: Json, budgets: int) -> None:
    engines = [
        found for found in helm.template(values).of("PodDisruptionBudget") if found["metadata"]["name"] == ENGINE
    ]
    assert len(engines) == budgets


def test_routers_have_a_budget_of_their_own(helm: Helm) -> None:
    layer = model(routing={"replicas": 2}, disruption={"maxUnavailable": 3}, replicas=4)
    spec = helm.template(layer).get("PodDisruptionBudget", "demo-tiny-router")["spec"]
    assert spec["maxUnavailable"] == 1
    assert spec["selector"]["matchLabels"]["app.kubernetes.io/component"] == "router"
    assert len(helm.template().of("PodDisruptionBudget")) == 1


# Where Pods run


def test_routers_run_where_they_are_told_and_engines_elsewhere(helm: Helm) -> None:
    manifests = helm.template(model(nodeSelector={"pool": "gpu"}, routing={"nodeSelector": {"pool": "cpu"}}))
    found = {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: each["spec"]["template"]["spec"].get("nodeSelector")
        for each in manifests.of("Deployment")
    }
    assert (found["engine"], found["router"]) == ({"pool": "gpu"}, {"pool": "cpu"})
    # No more is asked of them by default, nor with a key that null deletes.
    for layer in (model(nodeSelector={"pool": "gpu"}), model(routing={"nodeSelector": None})):
        (router,) = [
            each for each in helm.template(layer).of("Deployment") if each["metadata"]["name"].endswith("-router")
        ]
        assert "nodeSelector" not in router["spec"]["template"]["spec"]


def test_where_pods_run(helm: Helm) -> None:
    pod = helm.template(
        model(
            priorityClassName="high",
            runtimeClassName="nvidia",
            nodeSelector={"pool": "7"},
            podLabels={"team": "a", "cost-centre": "4711"},
            spread={"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"},
        )
    ).pod()
    spec = pod["spec"]
    assert (spec["priorityClassName"], spec["runtimeClassName"], spec["nodeSelector"]) == (
        "high",
        "nvidia",
        {"pool": "7"},
    )
    assert pod["metadata"]["labels"].items() >= {"team": "a", "cost-centre": "4711"}.items()
    (constraint,) = spec["topologySpreadConstraints"]
    assert constraint["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert (constraint["topologyKey"], constraint["maxSkew"]) == ("topology.kubernetes.io/zone", 2)
    assert "affinity" not in spec


def test_nothing_where_nothing_is_given(helm: Helm) -> None:
    spec = helm.template(model(spread=None), {"defaults": {"spread": None}}).pod()["spec"]
    absent = (
        "priorityClassName",
        "runtimeClassName",
        "nodeSelector",
        "affinity",
        "tolerations",
        "topologySpreadConstraints",
    )
    assert not [name for name in absent if name in spec]


TYPES = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge", "p4d.24xlarge"]}
ZONE = {"key": "zone", "operator": "Exists"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def test_instance_types_join_every_term_of_the_affinity(helm: Helm) -> None:
    given = {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ZONE]}, {"matchFields": [ZONE]}]}},
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
    }
    layer = model(instanceTypes=TYPES["values"], affinity=given)
    affinity = helm.template(layer).pod()["spec"]["affinity"]
    assert affinity["podAffinity"] == given["podAffinity"]
    assert affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {"matchExpressions": [ZONE, TYPES]},
        {"matchFields": [ZONE], "matchExpressions": [TYPES]},
    ]
    alone = helm.template(model(instanceTypes=TYPES["values"])).pod()["spec"]["affinity"]
    assert alone == {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [TYPES]}]}}}


# Secrets


def test_the_api_key_comes_by_name_only(helm: Helm) -> None:
    manifests = helm.template({"apiKey": {"secretName": "key", "key": "token"}})
    (given,) = [each for each in manifests.container("vllm")["env"] if each["name"] == "VLLM_API_KEY"]
    assert given == {"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "key", "key": "token"}}}
    assert not manifests.of("Secret")
    without = [each["name"] for each in helm.template().container("vllm")["env"]]
    assert "VLLM_API_KEY" not in without


# Probes

DOWNLOADED = {"claim": None, "huggingFace": {"id": "org/model", "revision": "a" * 40}}


def test_probes_follow_their_values(helm: Helm) -> None:
    probes = {
        "startup": {"budget": 100, "timeoutSeconds": 30},
        "readiness": {"periodSeconds": 7, "timeoutSeconds": 8, "failureThreshold": 9},
        "liveness": {"periodSeconds": 31, "timeoutSeconds": 12, "failureThreshold": 13},
    }
    manifests = helm.template(model(probes=probes))
    vllm, lmcache = manifests.container("vllm"), manifests.container("lmcache")
    numbers = ("periodSeconds", "timeoutSeconds", "failureThreshold")
    assert tuple(vllm["startupProbe"][name] for name in numbers) == (30, 30, 4)
    assert vllm["startupProbe"]["exec"]["command"][-1] == "20"
    for of in (vllm, lmcache):
        assert tuple(of["readinessProbe"][name] for name in numbers) == (7, 8, 9)
        assert tuple(of["livenessProbe"][name] for name in numbers) == (31, 12, 13)
    assert vllm["readinessProbe"]["httpGet"]["path"] == vllm["livenessProbe"]["httpGet"]["path"] == "/health"


@pytest.mark.parametrize("budget", [30, 31, 899, 1500, 3600000])
@pytest.mark.parametrize("completion", [True, False])
def test_the_startup_budget_is_kept(helm: Helm, budget: int, completion: bool) -> None:
    """Not less, so that nothing is killed while it loads, and less than one try more."""
    manifests = helm.template(model(probes={"startup": {"budget": budget, "completion": completion}}))
    for name in ("vllm", "lmcache"):
        probe = manifests.container(name)["startupProbe"]
        assert 0 <= probe["periodSeconds"] * probe["failureThreshold"] - budget < probe["periodSeconds"]
        assert probe["timeoutSeconds"] <= probe["periodSeconds"]
    assert ("httpGet" in manifests.container("vllm")["startupProbe"]) is not completion


@pytest.mark.parametrize(
    ("layer", "more"),
    [(model(), 0), (model(source=DOWNLOADED), 3600), (model(terminationGracePeriodSeconds=600), 300)],
    ids=["claim", "download", "long answers"],
)
def test_a_rollout_waits_longer_than_a_start(helm: Helm, layer: Json, more: int) -> None:
    manifests = helm.template(layer)
    for name in ("demo-tiny-engine", "demo-tiny-router"):
        found = manifests.get("Deployment", name)
        assert found["spec"]["progressDeadlineSeconds"] == 900 + 300 + 600 + 900 + more


# The startup probe itself


class Server(ThreadingHTTPServer):
    """Answers completions as told, and keeps what it was asked."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, str], Json]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        status, text = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if status == 0:
            time.sleep(30)  # hangs, until the client gives up
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the test shows what matters."""


@contextlib.contextmanager
def engine(*answers: tuple[int, str]) -> Iterator[Server]:
    server = Server(*answers)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def command(helm: Helm) -> list[str]:
    """The rendered probe with this Python in place of the image's."""
    words = helm.template(model(servedName="org/Tiny:1e6")).container("vllm")["startupProbe"]["exec"]["command"]
    assert words[0] == "python3"
    return [sys.executable, *words[1:]]


def probe(command: list[str], port: int, seconds: float, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the probe against another port, for as long; exit status and what it says."""
    position = command.index("8000")
    words = [*command[:position], str(port), *command[position + 1 : -1], str(seconds)]
    done = subprocess.run(words, capture_output=True, text=True, env=env or {}, timeout=30, check=False)
    return done.returncode, done.stderr.strip()


GOOD = (200, json.dumps({"choices": [{"text": "a"}]}))


def test_a_completion_passes(command: list[str]) -> None:
    with engine(GOOD) as server:
        assert probe(command, server.server_port, 5) == (0, "")
    ((path, headers, body),) = server.asked
    assert path == "/v1/completions"
    assert body == {"model": "org/Tiny:1e6", "prompt": "1", "max_tokens": 1}
    assert "Authorization" not in headers


def test_the_probe_has_the_key(command: list[str]) -> None:
    with engine(GOOD) as server:
        assert probe(command, server.server_port, 5, {"VLLM_API_KEY": "k"})[0] == 0
    assert server.asked[0][1]["Authorization"] == "Bearer k"


def test_it_waits_for_the_server(command: list[str]) -> None:
    with engine((503, "loading"), (200, "no json"), GOOD) as server:
        assert probe(command, server.server_port, 10) == (0, "")
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, "EngineCore died"), "500 EngineCore died"),
        ((401, "Unauthorized"), "401 Unauthorized"),
        ((0, ""), "timed out"),
    ],
    ids=["error", "no key", "hangs"],
)
def test_what_fails_says_why(command: list[str], answer: tuple[int, str], said: str) -> None:
    with engine(answer) as server:
        status, text = probe(command, server.server_port, 1)
    assert status == 1
    assert said in text


def test_nobody_listens(command: list[str]) -> None:
    with engine(GOOD) as server:
        port = server.server_port
    status, text = probe(command, port, 1)
    assert status == 1
    assert "ConnectionRefusedError" in text


def test_the_script_is_the_file(helm: Helm) -> None:
    """What is rendered is the checked file less its description and blank lines."""
    script = helm.template().container("vllm")["startupProbe"]["exec"]["command"][3]
    source = (CHART / "files" / "startup_probe.py").read_text()
    code = source.split('"""', 2)[2]
    assert script.splitlines() == [line for line in code.splitlines() if line]


# Fields that the API would fill in


def test_no_probe_field_is_left_to_the_api(helm: Helm) -> None:
    """The API's time-out of 1 s is the one that hurts; the others are 0 or 1 and mean nothing."""
    for found in helm.template(keda()).of("Deployment"):
        for container in found["spec"]["template"]["spec"]["containers"]:
            for name, value in container.items():
                if name.endswith("Probe"):
                    assert {"periodSeconds", "timeoutSeconds", "failureThreshold"} <= value.keys()
