"""What is wrong with the values is said before anything is created."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_cluster.helm import Helm

from .api import Api
from .conftest import VALUES

NO_CLAIM = {"type": "existingClaim", "claimName": "nowhere", "hostPath": {"path": ""}}


def _tiny(override: dict[str, object]) -> dict[str, object]:
    return {"models": {"tiny": override}}


CASES: dict[str, tuple[dict[str, object], list[str]]] = {
    "missing claim": ({"l2": {"volume": NO_CLAIM}}, ["l2.volume.claimName", "nowhere"]),
    "missing model claim": (
        _tiny({"source": {"claim": {"name": "no-models"}}}),
        ["models.tiny.source.claim.name", "no-models"],
    ),
    "no replicas": (_tiny({"replicas": 0}), ["replicas"]),
    "unknown key": (_tiny({"replica": 2}), ["replica"]),
    "L1 larger than its memory": (_tiny({"cache": {"l1": {"memory": "8Gi"}}}), ["models.tiny", "8Gi", "memory"]),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_before_anything_is_created(
    case: str, helm: Helm, api: Api, image_values: list[Path], tmp_path: Path
) -> None:
    override, words = CASES[case]
    values = tmp_path / "override.json"
    values.write_text(json.dumps(override))
    refused = Helm(helm.kubeconfig, helm.namespace, "refused", [VALUES, *image_values, values]).upgrade(wait_s=0)
    assert not refused.ok
    assert all(word in refused.text for word in words), refused.text
    for listed in (
        api.apps.list_namespaced_deployment,
        api.core.list_namespaced_pod,
        api.core.list_namespaced_service,
        api.core.list_namespaced_secret,
    ):
        assert listed(helm.namespace).items == []
