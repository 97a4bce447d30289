"""PodMonitors scrape every part that has metrics and nothing else, and the NetworkPolicies let Prometheus in."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from chart.apiserver import PROMETHEUS, serve
from chart.cases import CASES, OBSERVED
from chart.helm import Helm, Json, Manifests, model
from chart.test_live import ACCOUNT, KV, MODELS, live_options

GROUP = "monitoring.coreos.com/v1"
LONELY: Json = {"observability": {"podMonitors": {"enabled": True}}}


@pytest.fixture(params=CASES)
def observed(helm: Helm, request: pytest.FixtureRequest) -> Manifests:
    """A case with everything that Prometheus Operator can be told."""
    return helm.run("-f", "-", given=json.dumps({**CASES[request.param], **OBSERVED}))


def _pods(manifests: Manifests) -> Iterator[Json]:
    """Templates of the Pods that stay: of hooks nobody asks for figures, and a CSI driver's controller has none."""
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        for found in manifests.of(kind):
            if found["metadata"]["labels"]["app.kubernetes.io/component"] != "curvine-csi-controller":
                yield found["spec"]["template"]


def _selects(selector: Json, pod: Json) -> bool:
    assert selector.keys() == {"matchLabels"}
    return bool(selector["matchLabels"].items() <= pod["metadata"]["labels"].items())


def _scraped(monitor: Json, pod: Json) -> dict[str, int]:
    """Ports of a Pod that a monitor scrapes, by name."""
    wanted = [endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]]
    ports = [port for each in pod["spec"]["containers"] for port in each.get("ports", [])]
    names = [port["name"] for port in ports]
    assert len(set(names)) == len(names), "a name that two ports have names neither"
    return {port["name"]: port["containerPort"] for port in ports if port["name"] in wanted}


def test_every_pod_is_scraped_once(observed: Manifests) -> None:
    monitors = observed.of("PodMonitor")
    pods = list(_pods(observed))
    for pod in pods:
        found = [monitor for monitor in monitors if _selects(monitor["spec"]["selector"], pod)]
        assert len(found) == 1, pod["metadata"]["labels"]
        assert _scraped(found[0], pod)
    for monitor in monitors:
        selected = [pod for pod in pods if _selects(monitor["spec"]["selector"], pod)]
        assert selected
        # No endpoint that stands for nothing.
        there = {name for pod in selected for name in _scraped(monitor, pod)}
        assert there == {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]}
    helpers = observed.of("Pod")
    assert not [m for m in monitors for pod in helpers if _selects(m["spec"]["selector"], pod)]


def test_every_port_that_says_metrics_is_scraped(observed: Manifests) -> None:
    for pod in _pods(observed):
        (monitor,) = [m for m in observed.of("PodMonitor") if _selects(m["spec"]["selector"], pod)]
        ports = [port["name"] for each in pod["spec"]["containers"] for port in each.get("ports", [])]
        meant = {name for name in ports if name in ("metrics", "fuse", "lmcache-http")}
        assert meant <= _scraped(monitor, pod).keys()


def test_policies_let_prometheus_in_to_every_port(observed: Manifests) -> None:
    (peer,) = OBSERVED["networkPolicy"]["metricsFrom"]
    for pod in _pods(observed):
        policies = [p for p in observed.of("NetworkPolicy") if _selects(p["spec"]["podSelector"], pod)]
        assert policies, "a Pod that no policy protects"
        named = {port["name"]: port["containerPort"] for each in pod["spec"]["containers"] for port in each["ports"]}
        open_to_it = {
            named.get(port["port"], port["port"])
            for policy in policies
            for rule in policy["spec"]["ingress"]
            if peer in rule.get("from", [])
            for port in rule["ports"]
        }
        for monitor in observed.of("PodMonitor"):
            if _selects(monitor["spec"]["selector"], pod):
                assert set(_scraped(monitor, pod).values()) <= open_to_it


def test_nothing_of_it_by_default(helm: Helm) -> None:
    for values in CASES.values():
        if "observability" not in values:
            assert GROUP not in helm.run("-f", "-", given=json.dumps(values)).text


def test_a_monitor_says_what_was_given(helm: Helm) -> None:
    values = {
        **OBSERVED,
        "observability": {"podMonitors": {"enabled": True, "interval": "45s", "labels": {"team": "a"}}},
    }
    manifests = helm.template(values)
    assert not manifests.of("PrometheusRule")
    for monitor in manifests.of("PodMonitor"):
        assert monitor["apiVersion"] == GROUP
        assert monitor["metadata"]["labels"]["team"] == "a"
        for endpoint in monitor["spec"]["podMetricsEndpoints"]:
            assert {key: endpoint[key] for key in ("path", "interval")} == {"path": "/metrics", "interval": "45s"}
    engine = manifests.get("PodMonitor", "demo-engine")
    # Rules add up by it: tiered_kv_cache_io_model, as Prometheus spells it.
    assert engine["spec"]["podTargetLabels"] == ["tiered-kv-cache.io/model"]


def test_lmcache_in_the_engine_has_no_port_of_its_own(helm: Helm) -> None:
    gpu = {"device": "cuda", "lmcacheMode": "inProcess"}
    manifests = helm.template(OBSERVED, model(engine=gpu, resources={"engine": {"limits": {"memory": "16Gi"}}}))
    (endpoint,) = manifests.get("PodMonitor", "demo-engine")["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == "http"


REFUSED: dict[str, tuple[Json, list[str]]] = {
    "nobody is let in": (LONELY, ["observability.podMonitors.enabled: true", "networkPolicy.metricsFrom names nobody"]),
    "alerts without jobs": (
        {"observability": {"alerts": {"enabled": True}}},
        ["observability.alerts.enabled: true", "set observability.podMonitors.enabled: true"],
    ),
    "too slow for the alerts": (
        {**OBSERVED, "observability": {**OBSERVED["observability"], "podMonitors": {"enabled": True, "interval": "121s"}}},
        ['observability.podMonitors.interval: "121s"', "120s or less"],
    ),
    "a label of the chart": (
        {**OBSERVED, "observability": {"podMonitors": {"enabled": True, "labels": {"app.kubernetes.io/name": "x"}}}},
        ['observability.podMonitors.labels: "app.kubernetes.io/name"', "the chart's own"],
    ),
    "a label that YAML read": (
        {**OBSERVED, "observability": {"podMonitors": {"enabled": True, "labels": {"release": 1}}}},
        ["observability.podMonitors.labels.release: 1", "quote it"],
    ),
    "no label's value": (
        {**OBSERVED, "observability": {"podMonitors": {"enabled": True, "labels": {"release": "a b"}}}},
        ['observability.podMonitors.labels: "a b"', "no label release can have this value"],
    ),
    "no interval": (
        {**OBSERVED, "observability": {"podMonitors": {"enabled": True, "interval": None}}},
        ["observability.podMonitors.interval: not given"],
    ),
    "no threshold": (
        {**OBSERVED, "observability": {**OBSERVED["observability"], "alerts": {"enabled": True, "thresholds": {"notServed": None}}}},
        ["observability.alerts.thresholds.notServed: not given"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_with_its_fix(helm: Helm, case: str) -> None:
    values, wanted = REFUSED[case]
    helm.assert_refused(values, wanted)


def test_without_policies_nobody_needs_to_be_named(helm: Helm) -> None:
    assert helm.template(LONELY, {"networkPolicy": {"enabled": False}}).of("PodMonitor")


def test_a_cluster_without_prometheus_operator_is_named(helm: Helm) -> None:
    with serve({**ACCOUNT, **KV, **MODELS}) as url:
        message = helm.refusal(OBSERVED, extra=live_options(url))
    for kind, served in (("podMonitors", "PodMonitor"), ("alerts", "PrometheusRule")):
        assert f"observability.{kind}.enabled: true" in message
        assert f"no {served} of {GROUP}" in message
    with serve({**ACCOUNT, **KV, **MODELS}, PROMETHEUS) as url:
        assert helm.template(OBSERVED, extra=live_options(url)).of("PrometheusRule")
