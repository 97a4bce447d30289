"""patch-check with the chart's own rights: without a patch, with the chart's policies, and with a poor one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from chart.helm import Helm, Manifests, environment
from patch.policy import GROUP, POLICIES
from scheduling.controlplane import ControlPlane
from tiered_kv_cache.cluster import KubernetesCluster
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.patchcheck import command
from tiered_kv_cache.patchcheck.config import parse
from tiered_kv_cache.rows import FAIL, OK, WARN, Row

from .conftest import NAMESPACE, OTHER, As

VALUES = {
    "platform": "hyperpod",
    "models": {"tiny": {"engine": {"lmcacheMode": "multiProcess"}}},
    "inferenceOperator": {
        "version": "3.7",
        "l2Patch": {
            "mechanism": "policy",
            "namespaces": {OTHER: {"models": ["*"], "claimName": "l2", "mountPath": "/l2", "hashSeed": 0}},
        },
    },
}
RUNNING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "old", "labels": {"app": "demo-tiny", "deploying-service": "hyperpod-inference"}},
    "spec": {"automountServiceAccountToken": False, "containers": [{"name": "demo-tiny", "image": "a"}]},
}


@pytest.fixture(scope="module")
def manifests(helm: Helm) -> Manifests:
    return helm.template(VALUES, namespace=NAMESPACE, extra=("--kube-version", "1.36.0"))


@pytest.fixture(scope="module")
def check(manifests: Manifests, account: As) -> Callable[[float], list[Row]]:
    """Rows, with so many seconds for the patch to be seen."""
    cluster: KubernetesCluster = account(manifests, "patch-check")
    (container,) = manifests.get("Job", "demo-patch-check")["spec"]["template"]["spec"]["containers"]
    places = parse(environment(container)["TKC_PATCH_CHECK"], "the chart")

    def run(seconds: float) -> list[Row]:
        deadline = Deadline(seconds + 60)
        return command.check(cluster, places, False, (deadline, deadline.within(seconds)), lambda line: None)

    return run


@pytest.fixture(scope="module")
def patched(bare: ControlPlane, manifests: Manifests) -> Iterator[None]:
    """The chart's policies and parameters."""
    ours = [each for each in manifests.objects if each["kind"] in POLICIES]
    (parameters,) = [each for each in manifests.of("ConfigMap") if each["metadata"]["name"] == "demo-l2-patch"]
    for each in (parameters, *ours):
        bare.api.apply(each)
    yield
    for each in ours:
        bare.api.delete(f"{GROUP}/{POLICIES[each['kind']]}/{each['metadata']['name']}")


def test_without_a_patch_each_operators_pod_fails(bare: ControlPlane, check: Callable[[float], list[Row]]) -> None:
    bare.api.create(f"/api/v1/namespaces/{NAMESPACE}/pods", RUNNING)
    rows = check(1.0)
    tried = [row for row in rows if row.check.endswith("-process")]
    assert {row.severity for row in tried} == {FAIL}
    assert len(tried) == 4
    # Nobody changes what is not the operator's.
    assert {row.severity for row in rows if ": a Pod" in row.check} == {OK}


def test_with_the_charts_policies_all_come_back_as_specified(
    patched: None, check: Callable[[float], list[Row]]
) -> None:
    rows = check(60.0)
    assert [row for row in rows if row.severity == FAIL] == []
    (running,) = [row for row in rows if row.severity == WARN]
    assert running.finding
    assert "1 of 1 Pods of demo-tiny in namespace kv run without the patch: old" in running.finding.what


def test_nothing_was_made(bare: ControlPlane, patched: None) -> None:
    for namespace in (NAMESPACE, OTHER):
        names = [each["metadata"]["name"] for each in bare.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]]
        assert names == (["old"] if namespace == NAMESPACE else [])


def test_a_policy_that_patches_half(bare: ControlPlane, check: Callable[[float], list[Row]]) -> None:
    """A MutatingAdmissionPolicy of somebody else, which only sets the annotation."""
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "half.example.com"}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    expression = 'Object{metadata: Object.metadata{annotations: {"tiered-kv-cache.io/l2-patch": "v1"}}}'
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
        "failurePolicy": "Fail",
    }
    bare.api.apply(head | {"kind": "MutatingAdmissionPolicy", "spec": spec})
    bare.api.apply(head | {"kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": "half.example.com"}})
    deadline = time.monotonic() + 60
    try:
        while not (rows := [row for row in check(0.0) if ": a Pod" in row.check and row.severity == FAIL]):
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert rows[0].finding
        assert "it has annotation tiered-kv-cache.io/l2-patch" in rows[0].finding.what
    finally:
        for kind in ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"):
            bare.api.delete(f"{GROUP}/{POLICIES[kind]}/half.example.com")
