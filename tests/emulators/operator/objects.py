"""The API calls for the kinds that the operator makes."""

from __future__ import annotations

from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from .names import GROUP, IEC_NAME, IEC_NAMESPACE, PLURAL
from .options import Json

_NOT_FOUND = 404
_KINDS = {
    "ConfigMap": ("core", "config_map"),
    "Deployment": ("apps", "deployment"),
    "Role": ("rbac", "role"),
    "RoleBinding": ("rbac", "role_binding"),
    "Service": ("core", "service"),
    "ServiceAccount": ("core", "service_account"),
}
"""Kind -> client, and the word for it in the client's methods."""


class Objects:
    """One cluster's objects as plain JSON.

    Args:
        api: a client of the cluster.
    """

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self.core, self.apps = client.CoreV1Api(api), client.AppsV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self._clients: Json = {"core": self.core, "apps": self.apps, "rbac": client.RbacAuthorizationV1Api(api)}

    def iec(self, namespace: str, name: str) -> Json | None:
        """An IEC, or None."""
        return self._found(self.custom.get_namespaced_custom_object, GROUP, "v1", namespace, PLURAL, name)

    def put_status(self, iec: Json, status: Json) -> None:
        """Write the status, where it differs."""
        if status.items() <= (iec.get("status") or {}).items():
            return
        place = (GROUP, "v1", iec["metadata"]["namespace"], PLURAL, iec["metadata"]["name"])
        self.custom.patch_namespaced_custom_object_status(*place, {"status": status})

    def put(self, wanted: Json) -> Json:
        """Make an object what it should be, whatever it is: the object that is there now.

        The whole of it is replaced, since lists like `env` may hold a name twice; the API server takes an equal one for no
        change. Annotations that others have added stay: the Deployment controller's revision is one.
        """
        kind, metadata = wanted["kind"], wanted["metadata"]
        there = self._found(self._method("read", kind), metadata["name"], metadata["namespace"])
        if there is None:
            return self._plain(self._method("create", kind)(metadata["namespace"], wanted))
        if there["metadata"].get("deletionTimestamp"):
            return there
        annotations = {**there["metadata"].get("annotations", {}), **metadata.get("annotations", {})}
        body = {**wanted, "metadata": {**metadata, "annotations": annotations}}
        return self._plain(self._method("replace", kind)(metadata["name"], metadata["namespace"], body))

    def owned(self, namespace: str, name: str) -> list[Json]:
        """Every object, in any namespace, that was made for an IEC."""
        return self._listed(f"{IEC_NAME}={name},{IEC_NAMESPACE}={namespace}")

    def all_keys(self) -> set[tuple[str, str]]:
        """Namespace and name of every IEC for which something was made."""
        labels = [each["metadata"]["labels"] for each in self._listed(IEC_NAME)]
        return {(each[IEC_NAMESPACE], each[IEC_NAME]) for each in labels}

    def delete(self, there: Json) -> None:
        """Remove an object that may be gone already."""
        metadata = there["metadata"]
        options = client.V1DeleteOptions(propagation_policy="Background")
        self._found(self._method("delete", there["kind"]), metadata["name"], metadata["namespace"], body=options)

    def _listed(self, selector: str) -> list[Json]:
        found = []
        for kind, (group, word) in _KINDS.items():
            listed = getattr(self._clients[group], f"list_{word}_for_all_namespaces")(label_selector=selector)
            found += [{**self._plain(each), "kind": kind} for each in listed.items]
        return found

    def _method(self, verb: str, kind: str) -> Any:
        group, word = _KINDS[kind]
        return getattr(self._clients[group], f"{verb}_namespaced_{word}")

    def _found(self, method: Any, *arguments: Any, **more: Any) -> Json | None:
        try:
            return self._plain(method(*arguments, **more))
        except ApiException as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _plain(self, found: Any) -> Json:
        return dict(self._api.sanitize_for_serialization(found))
