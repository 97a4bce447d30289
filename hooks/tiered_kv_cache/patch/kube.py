"""What `l2-patch certificate` asks the Kubernetes API. Role: Secrets get, create, update; ClusterRole: the one configuration get, patch."""

from __future__ import annotations

import base64
from typing import Any, Protocol

from ..keeper.kube import Answer, JsonObject, call


class Api(Protocol):
    """An API server; calls raise Answer."""

    def secret(self, namespace: str, name: str) -> JsonObject | None:
        """A Secret, None where there is none."""
        ...

    def create_secret(self, namespace: str, secret: JsonObject) -> None:
        """Make one; 409 if it is there."""
        ...

    def replace_secret(self, namespace: str, secret: JsonObject) -> None:
        """Replace one; 409 if it is not the version that was read."""
        ...

    def webhook(self, name: str) -> JsonObject | None:
        """A MutatingWebhookConfiguration, None where there is none."""
        ...

    def patch_webhook(self, name: str, operations: list[JsonObject]) -> None:
        """Change one by a JSON patch."""
        ...


class KubernetesApi:
    """A real one through the official client."""

    def __init__(self, client: Any) -> None:
        """``client``: a kubernetes.client.ApiClient."""
        from kubernetes.client import AdmissionregistrationV1Api, CoreV1Api  # noqa: PLC0415

        self._core, self._admission = CoreV1Api(client), AdmissionregistrationV1Api(client)

    def secret(self, namespace: str, name: str) -> JsonObject | None:
        """See Api."""
        return _or_none(self._core.read_namespaced_secret, namespace=namespace, name=name)

    def create_secret(self, namespace: str, secret: JsonObject) -> None:
        """See Api."""
        call(self._core.create_namespaced_secret, namespace=namespace, body=secret)

    def replace_secret(self, namespace: str, secret: JsonObject) -> None:
        """See Api."""
        name = secret["metadata"]["name"]
        call(self._core.replace_namespaced_secret, namespace=namespace, name=name, body=secret)

    def webhook(self, name: str) -> JsonObject | None:
        """See Api."""
        return _or_none(self._admission.read_mutating_webhook_configuration, name=name)

    def patch_webhook(self, name: str, operations: list[JsonObject]) -> None:
        """See Api. The client takes a list for a JSON patch."""
        call(self._admission.patch_mutating_webhook_configuration, name=name, body=operations)


def decoded(secret: JsonObject | None) -> dict[str, bytes]:
    """A Secret's data; what is not base64 counts as missing."""
    found = {}
    for key, text in ((secret or {}).get("data") or {}).items():
        try:
            found[key] = base64.b64decode(text)
        except ValueError:
            continue
    return found


def encoded(content: bytes) -> str:
    """As it stands in objects."""
    return base64.b64encode(content).decode()


def _or_none(what: Any, **args: Any) -> JsonObject | None:
    try:
        return call(what, **args)
    except Answer as err:
        if err.status == 404:
            return None
        raise
