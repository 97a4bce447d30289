"""What the tests ask the API server, as plain JSON over HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

Json = dict[str, Any]

PLURALS = {
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "NetworkPolicy": "networkpolicies",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ScaledObject": "scaledobjects",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "CustomResourceDefinition": "customresourcedefinitions",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "Namespace": "namespaces",
    "Secret": "secrets",
}
"""Names of kinds as they stand in paths."""


class Api:
    """One API server.

    Args:
        url: where it listens; its certificate is not checked.
        token: a bearer token.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, verify=False, timeout=60,
            limits=httpx.Limits(max_connections=50),
        )  # fmt: skip

    def get(self, path: str, **parameters: str) -> Json:
        """An object or list.

        Raises:
            httpx.HTTPStatusError: the server refused; its message is in `response.text`.
        """
        return self._answer(self._http.get(path, params=parameters))

    def create(self, path: str, content: Json, **parameters: str) -> Json:
        """As `get`, with POST."""
        return self._answer(self._http.post(path, json=content, params=parameters))

    def patch(self, path: str, content: Json, **parameters: str) -> Json:
        """As `get`, with a JSON merge patch."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return self._answer(self._http.patch(path, content=json.dumps(content), headers=headers, params=parameters))

    def apply(self, content: Json) -> Json:
        """Server-side apply of an object of a release."""
        group = content["apiVersion"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        namespace = content["metadata"].get("namespace")
        place = f"{root}/namespaces/{namespace}" if namespace else root
        path = f"{place}/{PLURALS[content['kind']]}/{content['metadata']['name']}"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        parameters = {"fieldManager": "helm", "force": "true"}
        return self._answer(self._http.patch(path, content=json.dumps(content), headers=headers, params=parameters))

    def delete(self, path: str) -> Json:
        """As `get`, with DELETE."""
        return self._answer(self._http.delete(path))

    def refusal(self, path: str, content: Json, **parameters: str) -> tuple[int, str]:
        """Status and message of a POST that may be refused."""
        answer = self.answer(path, content, **parameters)
        return answer.status_code, answer.json().get("message", "")

    def answer(self, path: str, content: Json, **parameters: str) -> httpx.Response:
        """The whole answer to a POST, refused or not, with its headers."""
        return self._http.post(path, json=content, params=parameters)

    def wait_for(self, path: str, timeout_s: float = 60.0) -> None:
        """Poll until a GET succeeds.

        Raises:
            httpx.HTTPStatusError: it did not within `timeout_s` seconds; the last answer.
        """
        deadline = time.monotonic() + timeout_s
        while (answer := self._http.get(path)).is_error and time.monotonic() < deadline:
            time.sleep(0.1)
        self._answer(answer)

    def stream(self, path: str, **parameters: str) -> Any:
        """An open watch: a context manager whose value has `iter_lines`."""
        return self._http.stream("GET", path, params={"watch": "true", **parameters}, timeout=None)

    def _answer(self, answer: httpx.Response) -> Json:
        if answer.is_error:
            raise httpx.HTTPStatusError(
                f"{answer.request.method} {answer.url}: {answer.text[:600]}", request=answer.request, response=answer
            )
        found = answer.json()
        assert isinstance(found, dict)
        return found


@dataclass
class Watch:
    """Every change of a kind of object since it was opened, in order, with none left out.

    Args:
        api: the server.
        path: of the list to watch.
        seen: is called with each event's type and object, one at a time.
    """

    api: Api
    path: str
    seen: Callable[[str, Json], None]
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watch:
        now = self.api.get(self.path)
        for item in now["items"]:
            self.seen("ADDED", item)
        version = now["metadata"]["resourceVersion"]
        # A daemon, and never joined: it waits for events until the server is killed.
        threading.Thread(target=self._run, args=(version,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _run(self, version: str) -> None:
        try:
            with self.api.stream(self.path, resourceVersion=version) as response:
                for line in response.iter_lines():
                    event = json.loads(line)
                    assert event["type"] != "ERROR", event
                    self.seen(event["type"], event["object"])
        except httpx.HTTPError:
            if not self._over.is_set():
                raise
