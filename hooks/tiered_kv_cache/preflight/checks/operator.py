"""AWS's Inference Operator: its CRD, its manager, its version. Names and places are those of both ways to install it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...cluster import JsonObject
from ...rows import INFO, Row
from ..context import DEFINITIONS, DEPLOYMENTS, Context, fails, ok, warns
from ..versions import tag_of, version_of

GROUP = "inference.sagemaker.aws.amazon.com"
CRD = f"inferenceendpointconfigs.{GROUP}"
FIELDS = ("kvCacheSpec", "intelligentRoutingSpec")
MANAGERS = {
    "hyperpod-inference-controller-manager": "EKS add-on",
    "hyperpod-inference-operator-controller-manager": "Helm chart",
}
IMAGE = "hyperpod-inference-operator"
"""In the manager's image, whatever the Deployment is called; the init container's image begins the same."""
MULTI_PROCESS_SINCE = (3, 7)
CERT_MANAGER = ("certificates.cert-manager.io", "issuers.cert-manager.io")
INSTALL = "aws eks create-addon --cluster-name <cluster> --addon-name amazon-sagemaker-hyperpod-inference"


def definition(context: Context) -> Iterator[Row]:
    """The CRD serves v1, with the fields that the chart renders."""
    if not context.settings.hyperpod:
        return
    expected = f"v1 with {', '.join(FIELDS)}"
    crd = context.objects.get(DEFINITIONS, CRD)
    if crd is None:
        yield fails(
            "operator CRD",
            "absent",
            expected,
            f"the cluster has no CustomResourceDefinition {CRD}: AWS's operator is not installed",
            "install the operator, or set platform: kubernetes",
            INSTALL,
        )
        return
    versions = {str(each.get("name")): each for each in (crd.get("spec") or {}).get("versions") or []}
    served = [name for name, each in versions.items() if each.get("served")]
    fields = _spec(versions.get("v1") or {})
    missing = [name for name in FIELDS if name not in fields]
    if "v1" not in served:
        what = f"{CRD} serves {', '.join(served) or 'nothing'}, not v1: the operator is older than 3.1"
        yield fails("operator CRD", f"serves {', '.join(served)}", expected, what, "upgrade the operator", INSTALL)
    elif missing:
        why = "the operator cannot cache, or an older one left its CRD behind"
        what = f"the schema of {CRD} v1 has no spec.{', spec.'.join(missing)}: {why}"
        yield fails(
            "operator CRD",
            f"v1 without {', '.join(missing)}",
            expected,
            what,
            "upgrade the operator with its CRDs",
            f"kubectl get crd {CRD} -o yaml",
        )
    else:
        # Where in the schema AWS put it was not published; that the word is there is enough to tell people.
        mode = "; LMCache in a process of its own can be asked for" if '"lmcache"' in json.dumps(fields) else ""
        yield ok("operator CRD", f"v1 served{mode}", expected)


def _spec(version: JsonObject) -> JsonObject:
    schema = ((version.get("schema") or {}).get("openAPIV3Schema") or {}).get("properties") or {}
    found: JsonObject = (schema.get("spec") or {}).get("properties") or {}
    return found


def manager(context: Context) -> Iterator[Row]:
    """Its Deployment is Available; which version, and where."""
    told = context.settings.operator
    if not context.settings.hyperpod or told is None:
        return
    expected = f"a Deployment that is Available in {told.namespace}"
    found = _manager(context, told.namespace)
    if found is None:
        yield fails(
            "operator",
            "absent",
            expected,
            f"neither {' nor '.join(MANAGERS)} is in namespace {told.namespace}, and no Deployment of the cluster has "
            f"an image {IMAGE}",
            "install the operator, or say where it is: inferenceOperator.namespace",
            INSTALL,
        )
        return
    name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
    tag = next((tag_of(image) for image in _images(found) if IMAGE in image), "")
    by = MANAGERS.get(name, "unknown way")
    seen = f"{namespace}/{name} {tag or 'of unknown version'} ({by})"
    conditions = (found.get("status") or {}).get("conditions") or []
    available = [each for each in conditions if each.get("type") == "Available"]
    if not available or available[0].get("status") != "True":
        why = str(available[0].get("message") or "") if available else "it has no condition Available yet"
        yield fails(
            "operator",
            f"{seen}, not Available",
            expected,
            f"Deployment {name} in namespace {namespace} is not Available: {why}",
            "see its Pods; it also converts InferenceEndpointConfigs between versions, which fails while it is away",
            f"kubectl -n {namespace} describe deployment {name}",
            f"kubectl -n {namespace} logs deployment/{name} --tail=50",
        )
        return
    if namespace != told.namespace:
        yield warns(
            "operator",
            seen,
            expected,
            f"the operator is in namespace {namespace}, not in {told.namespace}",
            f"set inferenceOperator.namespace: {namespace}",
        )
        return
    yield ok("operator", seen, expected)
    yield from _version(tag, told.version)


def _manager(context: Context, namespace: str) -> JsonObject | None:
    for name in MANAGERS:
        if found := context.objects.get(DEPLOYMENTS, name, namespace):
            return found
    for each in context.objects.list(DEPLOYMENTS):
        if any(f"/{IMAGE}:" in f"/{image}" or f"/{IMAGE}@" in f"/{image}" for image in _images(each)):
            return each
    return None


def _images(deployment: JsonObject) -> list[str]:
    spec = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    return [str(each.get("image") or "") for each in spec.get("containers") or []]


def _version(tag: str, told: str) -> Iterator[Row]:
    have = version_of(tag)
    if told and have and have[: len(version_of(told))] != version_of(told):
        yield warns(
            "operator version",
            tag,
            told,
            f"values say that the operator is {told}, and its image is {tag}",
            f'set inferenceOperator.version: "{".".join(map(str, have[:2]))}", or leave it empty',
        )
    if have >= MULTI_PROCESS_SINCE:
        yield Row(
            "lmcache mode",
            INFO,
            f"operator {tag}",
            "InProcess or MultiProcess: the patch sets either, and patch-check proves it",
        )


def cert_manager(context: Context) -> Iterator[Row]:
    """The operator's manager waits for it, and the patch's certificate may be its work."""
    patch = context.settings.patch
    ours = patch is not None and patch.certManager
    if not (context.settings.hyperpod or ours):
        return
    missing = [name for name in CERT_MANAGER if context.objects.get(DEFINITIONS, name) is None]
    if not missing:
        yield ok("cert-manager", "CRDs there", "its CRDs")
        return
    row = fails if ours else warns
    whose = (
        "the patch's certificate (l2Patch.webhook.certificate)"
        if ours
        else "AWS's operator, whose manager does not start without them"
    )
    yield row(
        "cert-manager",
        f"{', '.join(missing)} absent",
        "its CRDs",
        f"cert-manager's CRDs are missing, and are needed by {whose}",
        "install cert-manager" + (", or set certificate.source: release" if ours else ""),
        "aws eks create-addon --cluster-name <cluster> --addon-name cert-manager",
    )
