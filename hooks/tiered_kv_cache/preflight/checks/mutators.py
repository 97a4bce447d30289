"""Who else changes Pods on their way in, and whether a patch of this or an earlier release is fit to."""

from __future__ import annotations

from collections.abc import Iterator

from ...cluster import JsonObject
from ...objects import Kind
from ...rows import INFO, Row
from ..context import DEFINITIONS, NAMESPACES, SLICES, WEBHOOKS, Context, fails, ok, warns

PART_OF = ("app.kubernetes.io/part-of", "tiered-kv-cache")
KYVERNO = Kind("kyverno.io/v1", "clusterpolicies", namespaced=False)
TEMPLATES = "constrainttemplates.templates.gatekeeper.sh"


def mutators(context: Context) -> Iterator[Row]:
    """Webhooks of others that change Pods, Kyverno's policies, Gatekeeper's constraints."""
    if context.settings.patch is None:
        return
    expected = "nobody else changes the operator's Pods"
    others = [each for each in context.objects.list(WEBHOOKS) if not _ours(each)]
    named = sorted(
        each["metadata"]["name"] for each in others if any(_sees_pods(hook) for hook in each.get("webhooks") or [])
    )
    for name in named:
        if "kyverno" in name or "gatekeeper" in name:
            yield warns(
                "mutators",
                name,
                expected,
                f"{name} changes Pods as well: what it sets after the patch counts, and the patch runs again only if "
                "it changes something",
                "keep its rules away from env, volumes and args of Pods labelled "
                "deploying-service=hyperpod-inference; patch-check proves what comes out",
                f"kubectl get mutatingwebhookconfiguration {name} -o yaml",
            )
        else:
            yield Row("mutators", INFO, name, expected)
    policies = [each["metadata"]["name"] for each in context.objects.list(KYVERNO) if _mutates(each)]
    if policies:
        listed = ", ".join(sorted(policies)[:5])
        yield warns(
            "mutators",
            f"Kyverno: {listed}",
            expected,
            f"Kyverno's ClusterPolicies {listed} change objects; one that sets env or volumes of Pods works against "
            "the patch",
            "exclude Pods labelled deploying-service=hyperpod-inference in them",
            "kubectl get clusterpolicy",
        )
    if context.objects.get(DEFINITIONS, TEMPLATES):
        yield warns(
            "mutators",
            "Gatekeeper's ConstraintTemplates",
            expected,
            "Gatekeeper's constraints may refuse the operator's Pods after the patch (a claim, an annotation)",
            "see whether one of them covers Pods; patch-check shows a refusal",
            "kubectl get constraints",
        )
    if not named and not policies:
        yield ok("mutators", "none", expected)


def _mutates(policy: JsonObject) -> bool:
    return any(rule.get("mutate") for rule in (policy.get("spec") or {}).get("rules") or [])


def _sees_pods(hook: JsonObject) -> bool:
    for rule in hook.get("rules") or []:
        groups, kinds = rule.get("apiGroups") or [], rule.get("resources") or []
        operations = rule.get("operations") or []
        if {"", "*"} & set(groups) and {"pods", "*", "*/*"} & set(kinds) and {"CREATE", "*"} & set(operations):
            return True
    return False


def _ours(configuration: JsonObject) -> bool:
    return ((configuration.get("metadata") or {}).get("labels") or {}).get(PART_OF[0]) == PART_OF[1]


def running_patch(context: Context) -> Iterator[Row]:
    """The webhook of a release that is there already: somebody answers, and the API server trusts the answer."""
    if context.settings.patch is None:
        return
    for each in context.objects.list(WEBHOOKS):
        if _ours(each):
            for hook in each.get("webhooks") or []:
                yield from _webhook(context, each["metadata"]["name"], hook)


def _webhook(context: Context, name: str, hook: JsonObject) -> Iterator[Row]:
    client = hook.get("clientConfig") or {}
    service = client.get("service") or {}
    namespace, called = str(service.get("namespace") or ""), str(service.get("name") or "")
    expected = f"{name}: an endpoint and a caBundle"
    mine = namespace == context.settings.namespace
    remove = f"kubectl delete mutatingwebhookconfiguration {name}"
    if not mine:
        if namespace and context.objects.get(NAMESPACES, namespace) is None:
            yield fails(
                "patch webhook",
                f"{name}: namespace {namespace} is gone",
                expected,
                f"{name} is left of a release whose namespace {namespace} is gone: it refuses every Pod that it covers",
                "remove it",
                remove,
            )
        return
    if not client.get("caBundle"):
        yield warns(
            "patch webhook",
            f"{name}: no caBundle",
            expected,
            f"{name} has an empty caBundle: the API server trusts no answer, and Pods of the operator are refused",
            "this upgrade writes it, or cert-manager's injector does: see whether that runs",
            "kubectl -n cert-manager get pods",
        )
        return
    ready = _ready(context, namespace, called)
    if ready:
        yield ok("patch webhook", f"{name}: {ready} endpoints", expected)
    else:
        yield warns(
            "patch webhook",
            f"{name}: no endpoint ready",
            expected,
            f"no Pod of Service {namespace}/{called} is ready: Pods of the operator are refused until one is",
            "see its Pods",
            f"kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={called}",
            f"kubectl -n {namespace} get pods",
        )


def _ready(context: Context, namespace: str, service: str) -> int:
    slices = context.objects.list(SLICES, namespace, labelSelector=f"kubernetes.io/service-name={service}")
    endpoints = [each for found in slices for each in found.get("endpoints") or []]
    # Absent means ready.
    return len([each for each in endpoints if (each.get("conditions") or {}).get("ready") is not False])
