"""Every Pod of every render passes Pod Security "restricted", as a real API server judges it."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from chart.cases import CASES
from chart.helm import Json, model, overlay
from property.renderer import Question, Renderer

from .api import Api
from .controlplane import ControlPlane

NAMESPACE = "restricted"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"

GPU = model(engine={"device": "cuda", "tensorParallelSize": 2}, resources={"engine": {"limits": {"memory": "64Gi"}}})
RENDERS: dict[str, Json] = {
    **CASES,
    "gpu": overlay(GPU),
    "download": overlay(model(source={"claim": None, "huggingFace": {"id": "org/model", "revision": "a" * 40}})),
    "api key": overlay({"apiKey": {"secretName": "key"}}),
    "cache salt, own owner, clients": overlay(
        {
            "cacheSalt": {"secretName": "salt"},
            "l2": {
                "owner": {"uid": 20001, "gid": 20001, "fsGroup": None},
                "keeper": {"linesOfBusiness": {"cards": {"quota": "1Gi", "gid": 20002}}},
            },
            "networkPolicy": {"clientsFrom": [{"podSelector": {}}]},
        }
    ),
}


@pytest.fixture(scope="module")
def api(cluster: ControlPlane) -> Api:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": labels}})
    cluster.api.wait_for(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default")
    return cluster.api


def pods(objects: list[Json]) -> Iterator[Json]:
    """The Pods that the objects of a release make, as the API server gets them, under the namespace's own account."""
    for number, found in enumerate(objects):
        if found["kind"] == "Pod":
            spec = found["spec"]
        elif found["kind"] in ("Deployment", "Job"):
            spec = found["spec"]["template"]["spec"]
        else:
            continue
        # Classes and accounts are looked up before Pod Security is asked, and say nothing about it.
        less = {"priorityClassName", "runtimeClassName", "serviceAccountName"}
        kept = {key: value for key, value in spec.items() if key not in less}
        yield {"metadata": {"name": f"pod-{number}"}, "spec": kept}


@pytest.mark.parametrize("case", RENDERS)
def test_every_pod_is_admitted(api: Api, renderer: Renderer, case: str) -> None:
    answer = renderer.ask(Question(RENDERS[case]))
    assert not answer.error, answer.error
    kinds = [found["kind"] for found in answer.objects]
    asked = list(pods(answer.objects))
    assert len(asked) >= kinds.count("Deployment")
    for pod in asked:
        assert api.refusal(PODS, pod, dryRun="All", fieldValidation="Strict") == (201, ""), pod["spec"]["containers"][
            0
        ]["name"]


def test_the_server_would_refuse_less(api: Api, renderer: Renderer) -> None:
    """So that the tests above can fail: each wish that the profile forbids is named."""
    pod = next(pods(renderer.ask(Question(CASES["minimal"])).objects))
    spec = copy.deepcopy(pod["spec"])
    spec["hostNetwork"] = True
    spec["securityContext"]["runAsNonRoot"] = False
    spec["volumes"].append({"name": "host", "hostPath": {"path": "/"}})
    del spec["containers"][0]["securityContext"]
    status, message = api.refusal(PODS, {**pod, "spec": spec}, dryRun="All")
    assert status == 403
    assert 'violates PodSecurity "restricted:latest"' in message
    for wish in (
        "host namespaces",
        "hostPath",
        "allowPrivilegeEscalation",
        "unrestricted capabilities",
        "runAsNonRoot",
    ):
        assert wish in message
