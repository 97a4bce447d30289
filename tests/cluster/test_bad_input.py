"""What is wrong with the values is said before anything is created."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_cluster.helm import Helm

from .api import Api
from .conftest import VALUES

CASES = {
    "missing claim": ({"l2": {"volume": {"type": "existingClaim", "claimName": "nowhere", "hostPath": {"path": ""}}}}, ["l2.volume.claimName", "nowhere"]),
    "missing model claim": ({"models": {"tiny": {"source": {"claim": {"name": "no-models"}}}}}, ["models.tiny.source.claim.name", "no-models"]),
    "no replicas": ({"models": {"tiny": {"replicas": 0}}}, ["replicas"]),
    "unknown key": ({"models": {"tiny": {"replica": 2}}}, ["replica"]),
    "L1 larger than its memory": ({"models": {"tiny": {"cache": {"l1": {"memory": "8Gi"}}}}}, ["models.tiny", "8Gi", "memory"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_refused_before_anything_is_created(case: str, helm: Helm, api: Api, image_values: list[Path], tmp_path: Path) -> None:
    override, words = CASES[case]
    values = tmp_path / "override.json"
    values.write_text(json.dumps(override))
    refused = Helm(helm.kubeconfig, helm.namespace, "refused", [VALUES, *image_values, values]).upgrade(wait_s=0)
    assert not refused.ok
    assert all(word in refused.text for word in words), refused.text
    for listed in (api.apps.list_namespaced_deployment, api.core.list_namespaced_pod, api.core.list_namespaced_service, api.core.list_namespaced_secret):
        assert listed(helm.namespace).items == []
