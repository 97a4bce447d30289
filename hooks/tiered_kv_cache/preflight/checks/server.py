"""The API server's version, and whether it serves what the patch's mechanism needs."""

from __future__ import annotations

from collections.abc import Iterator

from ...rows import INFO, Row
from ..context import Context, fails, ok
from ..versions import version_of

NEWEST_DOCUMENTED = (1, 34)
"""AWS's documentation: HyperPod with tiered storage runs Kubernetes 1.28 to 1.34."""
POLICIES = "/apis/admissionregistration.k8s.io/v1"


def server(context: Context) -> Iterator[Row]:
    """Its version."""
    wanted = context.settings.kubernetes
    said = str(context.objects.path("/version").get("gitVersion") or "")
    have = version_of(said)
    if not have or have[:2] < version_of(wanted)[:2]:
        what = f"the API server is {said or 'of a version that it does not tell'}; the chart needs Kubernetes {wanted} or newer"
        yield fails("server", said or "unknown", f">= {wanted}", what, "upgrade the cluster", "kubectl version")
    elif context.settings.hyperpod and have[:2] > NEWEST_DOCUMENTED:
        yield Row("server", INFO, said, f">= {wanted}; AWS documents up to 1.34 for HyperPod")
    else:
        yield ok("server", said, f">= {wanted}")


def policies(context: Context) -> Iterator[Row]:
    """Whether a patch by policy would be there at all."""
    patch = context.settings.patch
    if patch is None or patch.mechanism != "policy":
        return
    kinds = {str(each.get("kind")) for each in context.objects.path(POLICIES).get("resources") or []}
    if "MutatingAdmissionPolicy" in kinds:
        yield ok("policy kind", "served", "MutatingAdmissionPolicy v1")
    else:
        yield fails(
            "policy kind",
            "not served",
            "MutatingAdmissionPolicy v1",
            "the L2 patch is to be a policy, and this API server does not serve MutatingAdmissionPolicy in "
            "admissionregistration.k8s.io/v1",
            "set inferenceOperator.l2Patch.mechanism: webhook",
            "kubectl api-resources --api-group=admissionregistration.k8s.io",
        )
