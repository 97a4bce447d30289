"""Who scales a model keeps its number: real `helm upgrade` runs against a real API server with KEDA's own definition."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from chart.helm import CHART, Json
from property.renderer import Question, Renderer

from . import keda
from .api import Api
from .controlplane import ControlPlane

NAMESPACE = "scaled"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/demo-m-engine"
KEDA = {"serverAddress": "http://prometheus:9090", "query": "sum(waiting)", "threshold": 5}
METRIC = {
    "type": "External",
    "external": {"metric": {"name": "waiting"}, "target": {"type": "AverageValue", "averageValue": 5}},
}
SCALERS: dict[str, Json] = {
    "keda": {"enabled": True, "keda": KEDA},
    "hpa": {"enabled": True, "type": "hpa", "hpa": {"metrics": [METRIC]}},
}

Upgrade = Callable[[Json, str], None]


def values(autoscaling: Json, version: str) -> Json:
    """One model without GPUs."""
    return {
        "lineOfBusiness": NAMESPACE,
        "l2": {"enabled": False},
        "hooks": {"verify": {"enabled": False}},
        "models": {
            "m": {
                "source": {"imagePath": {"path": "/models/m"}},
                "engine": {"env": {"VERSION": version}},
                "cache": {"l2": {"enabled": False}},
                "autoscaling": autoscaling,
            }
        },
    }


@pytest.fixture(scope="module")
def api(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """A server that knows ScaledObjects."""
    crd = keda.definition(tmp_path_factory.mktemp("keda"))
    cluster.api.apply(crd)
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    cluster.api.wait_for(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default")
    cluster.api.wait_for(f"/apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}/scaledobjects")
    return cluster.api


@pytest.fixture
def upgrade(programs: Path, cluster: ControlPlane, api: Api) -> Upgrade:
    """`helm upgrade --install` with this autoscaling and version."""

    def run(autoscaling: Json, version: str) -> None:
        command = ["upgrade", "--install", "demo", str(CHART), "-n", NAMESPACE, "-f", "-"]
        done = subprocess.run(
            [str(programs / "helm"), *command, "--kubeconfig", str(cluster.kubeconfig)],
            input=json.dumps(values(autoscaling, version)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    return run


@pytest.mark.parametrize("scaler", SCALERS)
def test_an_upgrade_leaves_the_number_alone(api: Api, upgrade: Upgrade, scaler: str) -> None:
    upgrade(SCALERS[scaler], f"{scaler}-1")
    # What KEDA's and Kubernetes' autoscalers do.
    api.patch(f"{DEPLOYMENT}/scale", {"spec": {"replicas": 3}})
    upgrade(SCALERS[scaler], f"{scaler}-2")
    found = api.get(DEPLOYMENT)
    assert found["spec"]["replicas"] == 3
    assert f"{scaler}-2" in json.dumps(found["spec"]["template"])


def test_the_definition_of_keda_is_obeyed_to_the_leaf(api: Api, renderer: Renderer) -> None:
    given = values({"enabled": True, "keda": {**KEDA, "authenticationRef": "a", "fallbackReplicas": 2}}, "1")
    (scaled,) = [each for each in renderer.ask(Question(given)).objects if each["kind"] == "ScaledObject"]
    del scaled["metadata"]["namespace"]
    path = f"/apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}/scaledobjects"
    strict = {"dryRun": "All", "fieldValidation": "Strict"}
    assert api.refusal(path, scaled, **strict) == (201, "")
    for wrong in ({"maxReplicas": 3}, {"pollingInterval": "15"}, {"fallback": {"replicas": 1}}):
        status, message = api.refusal(path, {**scaled, "spec": {**scaled["spec"], **wrong}}, **strict)
        assert status in (400, 422), message
