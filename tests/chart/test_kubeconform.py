"""The API server's own schema, strict, takes every object of every case: one run of kubeconform for all."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from chart.cases import CASES
from chart.helm import Helm

FOREIGN = ("ScaledObject", "PodMonitor", "PrometheusRule", "Issuer", "Certificate")


def _localised(source: Path, target: Path) -> None:
    """Copy a schema of kubernetes-validate so that its references lead to the file beside it, and not to the network."""
    schema = json.loads(source.read_text().replace('"/api/_definitions.json#', '"_definitions.json#'))
    schema.pop("$id", None)
    target.write_text(json.dumps(schema))


@pytest.fixture
def validate(tmp_path: Path) -> list[str]:
    """The command line of kubeconform, which reads manifests from its standard input."""
    kubeconform, schemas = os.environ.get("KUBECONFORM"), os.environ.get("KUBE_SCHEMAS")
    if not kubeconform or not schemas:
        pytest.skip("KUBECONFORM or KUBE_SCHEMAS is not set; `make chart` sets them")
    for name in (
        "_definitions",
        *(f"{kind}-apps-v1" for kind in ("deployment", "daemonset", "statefulset")),
        *(f"{kind}-rbac-v1" for kind in ("role", "rolebinding", "clusterrole", "clusterrolebinding")),
        *(
            "networkpolicy-networking-v1",
            "job-batch-v1",
            "cronjob-batch-v1",
            "csidriver-storage-v1",
            "storageclass-storage-v1",
        ),
        *("poddisruptionbudget-policy-v1", "horizontalpodautoscaler-autoscaling-v2", "configmap-v1"),
        *(
            f"{kind}-admissionregistration-v1"
            for kind in (
                "mutatingwebhookconfiguration",
                *(
                    f"{what}admissionpolicy{binding}"
                    for what in ("mutating", "validating")
                    for binding in ("", "binding")
                ),
            )
        ),
        *(f"{kind}-v1" for kind in ("pod", "service", "serviceaccount", "persistentvolume", "persistentvolumeclaim")),
    ):
        _localised(Path(schemas) / f"{name}.json", tmp_path / f"{name}.json")
    return [
        kubeconform,
        "-strict",
        "-summary",
        # Kinds of others: tests/scheduling gives them to a real API server, with their definitions.
        "-skip",
        ",".join(FOREIGN),
        "-schema-location",
        f"{tmp_path}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
    ]


def test_every_object_is_valid(helm: Helm, validate: list[str]) -> None:
    rendered = [helm.run("-f", "-", given=json.dumps(values)) for values in CASES.values()]
    text = "".join(manifests.text for manifests in rendered)
    done = subprocess.run(validate, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = [found["kind"] for manifests in rendered for found in manifests.objects]
    assert f"Valid: {sum(kind not in FOREIGN for kind in kinds)}, Invalid: 0" in done.stdout


def test_an_unknown_field_is_seen(helm: Helm, validate: list[str]) -> None:
    text = helm.template().text.replace("replicas: 2", "replica: 2")
    done = subprocess.run(validate, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "replica" in done.stdout
