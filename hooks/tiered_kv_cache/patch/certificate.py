"""The verb `l2-patch certificate`: makes or renews what the webhook shows, and what the API server trusts. Idempotent."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from ..cluster import ClusterError, KubernetesCluster
from ..findings import Finding
from ..keeper.kube import Answer, JsonObject
from ..termination import leave_message
from . import renewal
from .kube import Api, KubernetesApi, decoded, encoded

TRIES = 5
"""If somebody else writes the same objects at the same time."""


class Failed(Exception):
    """Its text is a finding."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(str(Finding(what, fix)))


def main(args: argparse.Namespace) -> bool:
    """Run once; whether all is in place."""
    try:
        api = KubernetesApi(KubernetesCluster.connect(args.kubeconfig, args.context).api.api_client)
        ensure(api, args, datetime.now(UTC))
    except (Failed, ClusterError) as err:
        text = str(err) if isinstance(err, Failed) else str(Finding(str(err), err.fix))
        print(f"l2-patch certificate: {text}", file=sys.stderr, flush=True)
        leave_message(text)
        return False
    return True


def ensure(api: Api, args: argparse.Namespace, now: datetime) -> None:
    """Write what is missing or due. Raises Failed."""
    for left in reversed(range(TRIES)):
        try:
            return _once(api, args, now)
        except Answer as err:
            if err.status == 409 and left:
                continue
            raise Failed(
                f"cannot read or write Secret {args.namespace}/{args.secret} or MutatingWebhookConfiguration {args.webhook}: {err}",
                "install the chart's Role, ClusterRole and their bindings; see whether the API server answers",
            ) from err
    return None


def hosts(service: str, namespace: str) -> list[str]:
    """Names under which the API server, and others in the cluster, call a Service."""
    return [f"{service}.{namespace}.svc", f"{service}.{namespace}", f"{service}.{namespace}.svc.cluster.local"]


def _once(api: Api, args: argparse.Namespace, now: datetime) -> None:
    """Bundle first, Secret second. Raises Answer and Failed."""
    webhook = api.webhook(args.webhook) if args.webhook else None
    if args.webhook and webhook is None and not args.webhook_optional:
        raise Failed(f"there is no MutatingWebhookConfiguration {args.webhook}", "upgrade the release that renders it")
    secret = api.secret(args.namespace, args.secret)
    data, bundle = decoded(secret), _trusted(webhook)
    if args.issued:
        try:
            found = renewal.plan_issued(data, bundle, now)
        except ValueError as err:
            raise Failed(
                f"Secret {args.namespace}/{args.secret}: {err}", "see the events of the Certificate that is to fill it"
            ) from err
    else:
        found = renewal.plan(data, bundle, hosts(args.service, args.namespace), now)
    for line in found.said:
        _say(line)
    if webhook is not None:
        _trust(api, webhook, found.bundle)
    if found.secret != data:
        _store(api, args, secret, found.secret)


def _trusted(webhook: JsonObject | None) -> bytes:
    """All that its caBundles hold."""
    configs = ((each.get("clientConfig") or {}) for each in (webhook or {}).get("webhooks") or ())
    return b"".join(decoded({"data": {"ca": config.get("caBundle") or ""}}).get("ca", b"") for config in configs)


def _trust(api: Api, webhook: JsonObject, bundle: bytes) -> None:
    name = webhook["metadata"]["name"]
    wanted = encoded(bundle)
    operations: list[JsonObject] = []
    for place, each in enumerate(webhook.get("webhooks") or ()):
        if (each.get("clientConfig") or {}).get("caBundle") != wanted:
            path = f"/webhooks/{place}"
            operations += [
                {"op": "test", "path": f"{path}/name", "value": each["name"]},
                {"op": "add", "path": f"{path}/clientConfig/caBundle", "value": wanted},
            ]
    if operations:
        api.patch_webhook(name, operations)
        _say(f"caBundle of MutatingWebhookConfiguration {name} written")


def _store(api: Api, args: argparse.Namespace, secret: JsonObject | None, data: dict[str, bytes]) -> None:
    texts = {key: encoded(content) for key, content in data.items()}
    if secret is None:
        metadata = {"name": args.secret, "namespace": args.namespace}
        api.create_secret(args.namespace, {
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": texts,
        })  # fmt: skip
    else:
        api.replace_secret(args.namespace, {**secret, "data": texts})
    _say(f"Secret {args.namespace}/{args.secret} written")


def _say(line: str) -> None:
    print(f"l2-patch certificate: {line}", flush=True)
