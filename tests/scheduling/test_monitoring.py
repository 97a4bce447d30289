"""PodMonitors and rules are what Prometheus Operator's own definitions say, as a real API server judges them."""

from __future__ import annotations

import pytest

from chart.cases import CASES
from chart.helm import Json
from property.renderer import Question, Renderer

from .api import Api
from .controlplane import ControlPlane
from .definitions import PROMETHEUS_OPERATOR, definition

NAMESPACE = "monitored"
PLACE = f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}"
KINDS = {"PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules"}


@pytest.fixture(scope="module")
def api(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """A server that knows both kinds."""
    folder = tmp_path_factory.mktemp("definitions")
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for plural in KINDS.values():
        cluster.api.apply(definition(PROMETHEUS_OPERATOR, f"monitoring.coreos.com_{plural}", folder))
        cluster.api.wait_for(f"{PLACE}/{plural}")
    return cluster.api


@pytest.fixture(scope="module")
def objects(renderer: Renderer) -> list[Json]:
    """All that a release tells Prometheus Operator."""
    answer = renderer.ask(Question(CASES["observed"], namespace=NAMESPACE))
    assert not answer.error, answer.error
    return [found for found in answer.objects if found["kind"] in KINDS]


def _refusal(api: Api, found: Json) -> tuple[int, str]:
    return api.refusal(f"{PLACE}/{KINDS[found['kind']]}", found, dryRun="All", fieldValidation="Strict")


def test_every_object_is_accepted(api: Api, objects: list[Json]) -> None:
    assert {found["kind"] for found in objects} == KINDS.keys()
    for found in objects:
        assert _refusal(api, found) == (201, ""), found["metadata"]["name"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_server_would_refuse_less(api: Api, objects: list[Json], kind: str) -> None:
    """So that the test above can fail: unknown fields, and values of another kind."""
    found = next(each for each in objects if each["kind"] == kind)
    status, message = _refusal(api, {**found, "spec": {**found["spec"], "endpoint": []}})
    assert status == 400
    assert 'unknown field "spec.endpoint"' in message
    wrong = {"podMetricsEndpoints": [{"port": 8000}], "groups": [{"name": "a", "rules": [{"for": "soon"}]}]}
    status, _ = _refusal(
        api, {**found, "spec": {**found["spec"], **{k: v for k, v in wrong.items() if k in found["spec"]}}}
    )
    assert status == 422
