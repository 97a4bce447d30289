"""preflight with the chart's own rights on a real API server: they are enough for all that it looks at, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chart.helm import Helm, Json, environment
from scheduling.api import Api
from scheduling.controlplane import ControlPlane
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.objects import Objects
from tiered_kv_cache.preflight.config import parse
from tiered_kv_cache.preflight.context import Context
from tiered_kv_cache.preflight.run import run
from tiered_kv_cache.rows import FAIL, INFO, OK, WARN, Row

from .conftest import NAMESPACE, As, node

VALUES: Json = {
    "platform": "hyperpod",
    "imagePullSecrets": [{"name": "regcred"}],
    "defaults": {"hyperpod": {"serviceAccountName": "engines"}, "instanceTypes": ["ml.g5.24xlarge"]},
    "models": {"tiny": {"replicas": 2, "engine": {"device": "cuda", "tensorParallelSize": 4}}},
}
CRD = "inferenceendpointconfigs.inference.sagemaker.aws.amazon.com"
GROUP, PLURAL = "inference.sagemaker.aws.amazon.com", "inferenceendpointconfigs"
GB = {"requests": {"cpu": "1", "memory": "8Gi"}, "limits": {"cpu": "8", "memory": "64Gi"}}


def definition(group: str, plural: str, kind: str, *fields: str) -> Json:
    """As small as the API server takes it; those of the operator and of cert-manager are theirs to give."""
    spec = {"type": "object", "properties": {name: {"type": "object"} for name in fields}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def claim(name: str, storage: str = "") -> Json:
    spec = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage,
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def furnished(bare: ControlPlane) -> Api:
    """All that the release needs, but for what each test adds."""
    api = bare.api
    for name in ("node-1", "node-2"):
        node(api, name)
    api.apply(definition(GROUP, PLURAL, "InferenceEndpointConfig", "kvCacheSpec", "intelligentRoutingSpec"))
    api.apply(definition("cert-manager.io", "certificates", "Certificate"))
    api.apply(definition("cert-manager.io", "issuers", "Issuer"))
    place = f"/api/v1/namespaces/{NAMESPACE}"
    late = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "example.com/p",
    }
    api.create("/apis/storage.k8s.io/v1/storageclasses", late | {"volumeBindingMode": "WaitForFirstConsumer"})
    for name in ("kv", "models"):
        api.create(f"{place}/persistentvolumeclaims", claim(name, "late"))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "regcred"},
        "type": "kubernetes.io/dockerconfigjson",
    }
    api.create(f"{place}/secrets", secret | {"stringData": {".dockerconfigjson": "{}"}})
    labels = {"sagemaker.amazonaws.com/user-assignable": "true"}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "engines", "labels": labels}}
    api.create(f"{place}/serviceaccounts", account)
    return api


@pytest.fixture(scope="module")
def look(furnished: Api, helm: Helm, account: As) -> Callable[[], list[Row]]:
    """All rows, as the hook's own account sees them."""
    resources = {"resources": {"engine": GB}}
    manifests = helm.template(VALUES, {"models": {"tiny": resources}}, namespace=NAMESPACE)
    cluster = account(manifests, "preflight")
    (container,) = manifests.get("Job", "demo-preflight")["spec"]["template"]["spec"]["containers"]
    settings = parse(environment(container)["TKC_PREFLIGHT"], "the chart")
    return lambda: run(Context(settings, Objects(cluster, Deadline(60))), lambda line: None)


def of(rows: list[Row], check: str) -> list[Row]:
    return [row for row in rows if row.check == check]


def test_its_rights_are_enough_for_all_that_it_looks_at(look: Callable[[], list[Row]]) -> None:
    rows = look()
    assert [row for row in rows if row.seen == "not looked at"] == []
    assert {row.check for row in rows if row.severity == FAIL} == {"operator"}
    assert {row.severity for row in of(rows, "server") + of(rows, "operator CRD") + of(rows, "nodes")} <= {
        OK,
        INFO,
        WARN,
    }


def test_a_claim_that_waits_for_its_first_pod(look: Callable[[], list[Row]]) -> None:
    """OC-22."""
    assert [row.seen for row in of(look(), "claims")] == [
        "kv Pending, binds with its first Pod (WaitForFirstConsumer)",
        "models Pending, binds with its first Pod (WaitForFirstConsumer)",
    ]


def test_the_manager_is_found_and_judged(furnished: Api, look: Callable[[], list[Row]]) -> None:
    place = "/api/v1/namespaces"
    furnished.create(
        place, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hyperpod-inference-system"}}
    )
    name = "hyperpod-inference-controller-manager"
    image = "012345678901.dkr.ecr.eu-west-1.amazonaws.com/hyperpod-inference-operator:v3.2"
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": image}]}}
    path = "/apis/apps/v1/namespaces/hyperpod-inference-system/deployments"
    furnished.create(
        path,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        },
    )
    (row,) = of(look(), "operator")
    assert (row.severity, "not Available" in row.seen) == (FAIL, True)
    available = {"type": "Available", "status": "True", "reason": "a", "message": "b"}
    furnished.patch(f"{path}/{name}/status", {"status": {"conditions": [available]}})
    (row,) = of(look(), "operator")
    assert (row.severity, "EKS add-on" in row.seen) == (OK, True)


def test_a_quota_and_a_limit_range(furnished: Api, look: Callable[[], list[Row]]) -> None:
    """OC-19: before anything is made, with the missing figure."""
    place = f"/api/v1/namespaces/{NAMESPACE}"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "4"}},
    }
    limit = {"type": "Container", "max": {"memory": "32Gi"}}
    ranges = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "lr"}, "spec": {"limits": [limit]}}
    furnished.create(f"{place}/resourcequotas", quota)
    furnished.create(f"{place}/limitranges", ranges)
    rows = look()
    (row,) = of(rows, "quota")
    assert "4 requests.nvidia.com/gpu missing: needed 8 requests.nvidia.com/gpu, free 4" in row.seen
    assert any("has limit 64Gi memory, at most 32Gi memory" in each.seen for each in of(rows, "limit range"))
    furnished.delete(f"{place}/resourcequotas/team")
    furnished.delete(f"{place}/limitranges/lr")
    assert not [each for each in look() if each.check in ("quota", "limit range") and each.severity == FAIL]


def test_all_nodes_tainted(furnished: Api, look: Callable[[], list[Row]]) -> None:
    """OC-20."""
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    for name in ("node-1", "node-2"):
        furnished.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": [taint]}})
    try:
        (row, *_) = [each for each in of(look(), "nodes") if each.severity == FAIL]
        assert row.finding
        assert "tolerate the taint: defaults.tolerations: [{key: dedicated" in row.finding.fix
    finally:
        for name in ("node-1", "node-2"):
            furnished.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": []}})


def test_a_pull_secret_that_is_not_there(furnished: Api, look: Callable[[], list[Row]]) -> None:
    """OC-23."""
    assert [row.severity for row in of(look(), "pull secrets")] == [OK]
    furnished.delete(f"/api/v1/namespaces/{NAMESPACE}/secrets/regcred")
    (row,) = of(look(), "pull secrets")
    assert (row.severity, row.seen) == (FAIL, "regcred absent")
