"""Who scales a model keeps its number: real `helm upgrade` runs against a real API server with KEDA's own definition."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from chart.helm import CHART, Json
from property.renderer import Question, Renderer

from . import definitions
from .api import Api
from .controlplane import ControlPlane

NAMESPACE = "scaled"
KEDA = {"serverAddress": "http://prometheus:9090", "query": "sum(waiting)", "threshold": 5}
METRIC = {
    "type": "External",
    "external": {"metric": {"name": "waiting"}, "target": {"type": "AverageValue", "averageValue": 5}},
}
SCALERS: dict[str, Json] = {
    "keda": {"enabled": True, "keda": KEDA},
    "hpa": {"enabled": True, "type": "hpa", "hpa": {"metrics": [METRIC]}},
}

WAYS = {"server": "--server-side=true", "client": "--server-side=false"}
"""How helm writes: as Helm 4 does by itself, and as Helm 3 does."""

Upgrade = Callable[..., None]


def values(autoscaling: Json, version: str) -> Json:
    """One model without GPUs."""
    return {
        "lineOfBusiness": NAMESPACE,
        "l2": {"enabled": False},
        # No controller here runs a Job.
        "hooks": {"verify": {"enabled": False}, "preflight": {"enabled": False}},
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
    crd = definitions.definition(definitions.KEDA, "keda.sh_scaledobjects", tmp_path_factory.mktemp("keda"))
    cluster.api.apply(crd)
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    cluster.api.wait_for(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default")
    cluster.api.wait_for(f"/apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}/scaledobjects")
    return cluster.api


@pytest.fixture
def upgrade(programs: Path, cluster: ControlPlane, api: Api) -> Upgrade:
    """`helm upgrade --install` of a release with this autoscaling, version and options."""

    def run(release: str, autoscaling: Json, version: str, *options: str) -> None:
        command = ["upgrade", "--install", release, str(CHART), "-n", NAMESPACE, "-f", "-", *options]
        done = subprocess.run(
            [str(programs / "helm"), *command, "--kubeconfig", str(cluster.kubeconfig)],
            input=json.dumps(values(autoscaling, version)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    return run


def deployment(release: str) -> str:
    """Path of a release's one Deployment."""
    return f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{release}-m-engine"


@pytest.mark.parametrize(("scaler", "way"), [("keda", "server"), ("hpa", "client")])
def test_switched_on_scaled_and_switched_off(api: Api, upgrade: Upgrade, scaler: str, way: str) -> None:
    release = f"{scaler}-{way}"
    path = deployment(release)
    upgrade(release, {"enabled": False}, "1", WAYS[way])
    assert api.get(path)["spec"]["replicas"] == 2
    for version, replicas in (("2", 2), ("3", 3), ("4", 4)):
        if replicas > 2:
            # What KEDA and Kubernetes' own autoscaler do.
            api.patch(f"{path}/scale", {"spec": {"replicas": replicas}})
        upgrade(release, SCALERS[scaler], version, WAYS[way])
        found = api.get(path)["spec"]
        # Without the look at the running Deployment it would be 1 when autoscaling is switched on: the API's default.
        assert found["replicas"] == replicas, version
        assert {"name": "VERSION", "value": version} in found["template"]["spec"]["containers"][0]["env"]
    # The number is the autoscaler's now, and has to be taken back from it.
    upgrade(release, {"enabled": False}, "5", WAYS[way], *(["--force-conflicts"] if way == "server" else []))
    assert api.get(path)["spec"]["replicas"] == 2


def test_installed_with_it(api: Api, upgrade: Upgrade) -> None:
    upgrade("fresh", SCALERS["keda"], "1")
    path = deployment("fresh")
    api.patch(f"{path}/scale", {"spec": {"replicas": 3}})
    upgrade("fresh", SCALERS["keda"], "2")
    found = api.get(path)
    assert found["spec"]["replicas"] == 3
    owners = [
        each["manager"]
        for each in found["metadata"]["managedFields"]
        if "f:replicas" in each["fieldsV1"].get("f:spec", {})
    ]
    assert "helm" not in owners


def test_the_definition_of_keda_is_obeyed_to_the_leaf(api: Api, renderer: Renderer) -> None:
    given = values({"enabled": True, "keda": {**KEDA, "authenticationRef": "a", "fallbackReplicas": 2}}, "1")
    (scaled,) = [each for each in renderer.ask(Question(given)).objects if each["kind"] == "ScaledObject"]
    scaled["metadata"] = {"name": "strict"}
    path = f"/apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}/scaledobjects"
    strict = {"dryRun": "All", "fieldValidation": "Strict"}
    assert api.refusal(path, scaled, **strict) == (201, "")
    for wrong in ({"maxReplicas": 3}, {"pollingInterval": "15"}, {"fallback": {"replicas": 1}}):
        status, message = api.refusal(path, {**scaled, "spec": {**scaled["spec"], **wrong}}, **strict)
        assert status in (400, 422), message
