"""A real API server that holds AWS's own definitions takes every InferenceEndpointConfig that the chart renders."""

from __future__ import annotations

import copy

import pytest

from chart.cases import CASES
from chart.helm import Json
from crds.endpoints import GROUP, definition, without_newer
from property.renderer import Question, Renderer

from .api import Api
from .controlplane import ControlPlane

NAMESPACE = "endpoints"
PLURALS = ("inferenceendpointconfigs", "jumpstartmodels", "sagemakerendpointregistrations")
ENDPOINTS = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{PLURALS[0]}"
HYPERPOD = [name for name, values in CASES.items() if values.get("platform") == "hyperpod"]


@pytest.fixture(scope="module")
def api(cluster: ControlPlane) -> Api:
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for plural in PLURALS:
        cluster.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(plural))
    cluster.api.wait_for(f"/apis/{GROUP}/v1")
    cluster.api.wait_for(ENDPOINTS)
    return cluster.api


def endpoints(renderer: Renderer, case: str) -> list[Json]:
    """Those of a case, in the test's namespace, without fields whose definition is not here."""
    answer = renderer.ask(Question(CASES[case], namespace=NAMESPACE))
    assert not answer.error, answer.error
    found = [each for each in answer.objects if each["kind"] == "InferenceEndpointConfig"]
    assert found
    return [without_newer(each) for each in found]


@pytest.mark.parametrize("case", HYPERPOD)
def test_every_endpoint_is_accepted(api: Api, renderer: Renderer, case: str) -> None:
    for found in endpoints(renderer, case):
        assert api.refusal(ENDPOINTS, found, dryRun="All", fieldValidation="Strict") == (201, "")


def test_the_server_would_refuse_less(api: Api, renderer: Renderer) -> None:
    """So that the test above can fail: what is unknown, and what a pattern forbids."""
    found = copy.deepcopy(endpoints(renderer, "hyperpod-claim")[0])
    found["spec"]["worker"]["volumeMounts"] = []
    status, message = api.refusal(ENDPOINTS, found, dryRun="All", fieldValidation="Strict")
    assert (status, "volumeMounts" in message) == (400, True)
    del found["spec"]["worker"]["volumeMounts"]
    found["spec"]["instanceType"] = "g6e.4xlarge"
    status, message = api.refusal(ENDPOINTS, found, dryRun="All", fieldValidation="Strict")
    assert (status, "instanceType" in message) == (422, True)
