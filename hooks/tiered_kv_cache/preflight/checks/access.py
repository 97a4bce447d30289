"""What Pods need by name: ServiceAccounts, the secrets that images are pulled with; and what a namespace lets in."""

from __future__ import annotations

from collections.abc import Iterator

from ...cluster import JsonObject
from ...rows import Row
from ..context import ACCOUNTS, NAMESPACES, SECRETS, Context, fails, ok, warns

ASSIGNABLE = "sagemaker.amazonaws.com/user-assignable"
"""The operator takes a ServiceAccount of others only with this label, "true"; without it the endpoint ends as DeploymentFailed."""
PULL_TYPES = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")
ENFORCE = "pod-security.kubernetes.io/enforce"
LEVELS = ("privileged", "baseline", "restricted")
"""From what lets everything in to what lets least in."""


def accounts(context: Context) -> Iterator[Row]:
    """They exist, and the operator may use them."""
    namespace = context.settings.namespace
    for account in context.settings.accounts:
        expected = f"ServiceAccount {account.name}" + (f" with {ASSIGNABLE}=true" if account.assignable else "")
        label = f"kubectl -n {namespace} label serviceaccount {account.name} {ASSIGNABLE}=true --overwrite"
        found = context.objects.get(ACCOUNTS, account.name, namespace)
        if found is None:
            commands = [f"kubectl -n {namespace} create serviceaccount {account.name}"]
            yield fails(
                "accounts",
                f"{account.name} absent",
                expected,
                f"{account.key}: namespace {namespace} has no ServiceAccount {account.name}",
                "create it, or name another one",
                *commands,
                *([label] if account.assignable else []),
            )
        elif account.assignable and (found["metadata"].get("labels") or {}).get(ASSIGNABLE) != "true":
            yield fails(
                "accounts",
                f"{account.name} without the label",
                expected,
                f"{account.key}: ServiceAccount {account.name} has no label {ASSIGNABLE}=true, without which the "
                "operator ends the endpoint as DeploymentFailed",
                "label it",
                label,
            )
        else:
            yield ok("accounts", account.name, expected)


def pull_secrets(context: Context) -> Iterator[Row]:
    """They exist and are of the right kind: a Pod whose image cannot be pulled waits for ever, and so does a Job."""
    namespace = context.settings.namespace
    for name in context.settings.pullSecrets:
        login = "--docker-server=<registry> --docker-username=<user> --docker-password=<password>"
        make = f"kubectl -n {namespace} create secret docker-registry {name} {login}"
        found = context.objects.get(SECRETS, name, namespace)
        if found is None:
            what = f"imagePullSecrets: namespace {namespace} has no Secret {name}; images of a private registry would never come"
            yield fails("pull secrets", f"{name} absent", f"Secret {name}", what, "create it", make)
        elif found.get("type") not in PULL_TYPES:
            yield fails(
                "pull secrets",
                f"{name} of type {found.get('type')}",
                f"Secret {name} of type {PULL_TYPES[0]}",
                f"imagePullSecrets: Secret {name} is of type {found.get('type')}, which the kubelet pulls nothing with",
                "create one of the right type",
                make,
            )
        else:
            yield ok("pull secrets", name, f"Secret {name}")


def security(context: Context) -> Iterator[Row]:
    """The Pod Security level of each namespace in which Pods need more than "restricted" gives."""
    for need in context.settings.security:
        found: JsonObject | None = context.objects.get(NAMESPACES, need.namespace)
        level = str(((found or {}).get("metadata") or {}).get("labels", {}).get(ENFORCE) or "privileged")
        expected = f"{need.namespace} enforces at most {need.level}"
        if level in LEVELS and LEVELS.index(level) <= LEVELS.index(need.level):
            yield ok("pod security", f"{need.namespace} enforces {level}", expected)
            continue
        row = fails if need.sure else warns
        yield row(
            "pod security",
            f"{need.namespace} enforces {level}",
            expected,
            f"namespace {need.namespace} enforces the Pod Security level {level}, which refuses Pods of this release: "
            f"{need.why}",
            "use another namespace, or lower the level",
            f"kubectl label namespace {need.namespace} {ENFORCE}={need.level} --overwrite",
        )
