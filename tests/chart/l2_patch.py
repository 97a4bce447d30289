"""The L2 patch's objects in a render, for the tests of this folder."""

from __future__ import annotations

from chart.cases import HYPERPOD_MULTI_PROCESS, l2_patch
from chart.helm import Helm, Json, Manifests

POLICY_KINDS = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
WEBHOOK_KIND = "MutatingWebhookConfiguration"
NAME, WIDE = "demo-l2-patch", "tiered-kv-cache-l2-patch.tiered-kv-cache.demo"
POLICY, WEBHOOK = l2_patch(mechanism="policy"), l2_patch(mechanism="webhook")


def patched(helm: Helm, *layers: Json, extra: tuple[str, ...] = (), release: str = "demo") -> Manifests:
    """A release with one model on HyperPod, whose LMCache has an adapter that the patch loads."""
    return helm.template(HYPERPOD_MULTI_PROCESS, *layers, extra=extra, release=release)


def parameters(manifests: Manifests) -> dict[str, str]:
    """Data of the parameter object."""
    data: dict[str, str] = manifests.get("ConfigMap", NAME)["data"]
    return data


def mechanisms(manifests: Manifests) -> set[str]:
    """Which ones the render holds."""
    kinds = {found["kind"] for found in manifests.objects}
    return {name for name, kind in (("policy", "MutatingAdmissionPolicy"), ("webhook", WEBHOOK_KIND)) if kind in kinds}
