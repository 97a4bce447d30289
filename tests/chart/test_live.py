"""Claims are looked up where there is a cluster to ask, and nowhere else."""

from __future__ import annotations

import pytest

from chart.apiserver import Json, serve
from chart.helm import Helm
from chart.test_source import hub, s3

ACCOUNT: Json = {"serviceaccounts/tiered-kv-cache/default": {}}
KV: Json = {"persistentvolumeclaims/tiered-kv-cache/kv": {"spec": {"accessModes": ["ReadWriteMany"]}}}
MODELS: Json = {"persistentvolumeclaims/tiered-kv-cache/models": {"spec": {"accessModes": ["ReadOnlyMany"]}}}


def live_options(url: str) -> tuple[str, ...]:
    return ("--dry-run=server", "--kube-apiserver", url, "--disable-openapi-validation")


def test_claims_that_exist_are_accepted(helm: Helm) -> None:
    with serve({**ACCOUNT, **KV, **MODELS}) as url:
        assert helm.template(extra=live_options(url)).text == helm.template().text


def test_missing_claims_are_named_before_anything_is_made(helm: Helm) -> None:
    with serve(ACCOUNT) as url:
        message = helm.refusal(extra=live_options(url))
    assert "2 faults" in message
    assert 'l2.volume.claimName: "kv"' in message
    assert 'models.tiny.source.claim.name: "models"' in message
    assert message.count("namespace tiered-kv-cache has no PersistentVolumeClaim of this name") == 2
    assert "kubectl get pvc -n tiered-kv-cache" in message


@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadOnlyMany"])
def test_l2_claim_of_one_node_is_refused(helm: Helm, mode: str) -> None:
    claim = {"persistentvolumeclaims/tiered-kv-cache/kv": {"spec": {"accessModes": [mode]}}}
    with serve({**ACCOUNT, **claim, **MODELS}) as url:
        message = helm.refusal(extra=live_options(url))
    assert f"the claim's access modes are {mode}" in message
    assert "use a claim with access mode ReadWriteMany" in message


def test_without_the_account_nothing_is_concluded(helm: Helm) -> None:
    with serve({}) as url:
        assert helm.template(extra=live_options(url)).text == helm.template().text


DELETED: Json = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def test_a_claim_that_is_being_deleted_is_refused(helm: Helm) -> None:
    claim = {"persistentvolumeclaims/tiered-kv-cache/kv": {"metadata": {"name": "kv", **DELETED}}}
    with serve({**ACCOUNT, **claim, **MODELS}) as url:
        message = helm.refusal(extra=live_options(url))
    assert 'l2.volume.claimName: "kv"' in message
    assert "the claim is being deleted" in message


def test_the_claim_of_an_earlier_release_must_be_gone(helm: Helm) -> None:
    values = {"l2": {"volume": {"type": "hostPath", "claimName": "", "hostPath": {"path": "/shared"}}}}
    claim = {"persistentvolumeclaims/tiered-kv-cache/demo-l2": {"metadata": {"name": "demo-l2", **DELETED}}}
    with serve({**ACCOUNT, **claim, **MODELS}) as url:
        message = helm.refusal(values, extra=live_options(url))
    assert "claim demo-l2 of an earlier release is still being deleted" in message
    assert "kubectl wait --for=delete pvc/demo-l2 -n tiered-kv-cache" in message


OWNED: Json = {
    "labels": {"app.kubernetes.io/managed-by": "Helm"},
    "annotations": {"meta.helm.sh/release-name": "demo", "meta.helm.sh/release-namespace": "tiered-kv-cache"},
}
ON_NODES: Json = {"type": "hostPath", "hostPath": {"path": "/shared"}}


@pytest.mark.parametrize(
    ("key", "claim", "values"),
    [
        ("l2.volume.type", "demo-l2", {"l2": {"volume": {**ON_NODES, "claimName": ""}}}),
        ("modelStore.type", "demo-model-store", {"modelStore": ON_NODES, **hub()}),
        ("models.tiny.source.s3.bucket", "demo-tiny-bucket", s3(mode="mountpoint")),
    ],
)
@pytest.mark.parametrize("phase", ["Released", "Bound", "Available"])
def test_volume_whose_claim_is_gone_is_refused(helm: Helm, key: str, claim: str, values: Json, phase: str) -> None:
    name = f"tiered-kv-cache.{claim}"
    volume = {f"persistentvolumes//{name}": {"metadata": {"name": name, **OWNED}, "status": {"phase": phase}}}
    with serve({**ACCOUNT, **KV, **MODELS, **volume}) as url:
        if phase != "Released":
            assert name in helm.template(values, extra=live_options(url)).text
            return
        message = helm.refusal(values, extra=live_options(url))
    assert f'{key}: "' in message
    assert f"volume {name} is left of an earlier release" in message
    assert f"kubectl delete pv {name}" in message
