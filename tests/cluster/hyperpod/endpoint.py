"""An emulated endpoint: its resource, its Deployment, its Pods."""

from __future__ import annotations

from typing import Any

from kubernetes import client

from emulators.operator.names import GROUP, PLURAL

from ..api import Api, wait_for
from ..engines import Engines
from .machines import HTTP_PORT

Json = dict[str, Any]


class Endpoint(Engines):
    """One model of one release on platform hyperpod; its Pods are asked as Engines does.

    Args:
        api: the cluster.
        namespace: of the release.
        release: its name.
        model: key in the models map.
    """

    def __init__(self, api: Api, namespace: str, release: str, model: str) -> None:
        super().__init__(api, namespace, release, model)
        assert HTTP_PORT == 8180, "where Engines reads LMCache's metrics"
        self.name = f"{release}-{model}"
        self._custom = client.CustomObjectsApi(api.client)

    def pods(self) -> list[client.V1Pod]:
        """Those of the operator that do not end, by name."""
        listed = self.api.core.list_namespaced_pod(self.namespace, label_selector=f"app={self.name}").items
        return sorted((each for each in listed if not each.metadata.deletion_timestamp), key=lambda p: p.metadata.name)

    def uids(self) -> set[str]:
        return {each.metadata.uid for each in self.pods()}

    def iec(self) -> Json:
        return dict(self._custom.get_namespaced_custom_object(GROUP, "v1", self.namespace, PLURAL, self.name))

    def edit(self, spec: Json) -> None:
        """A merge patch of the resource's spec."""
        self._custom.patch_namespaced_custom_object(GROUP, "v1", self.namespace, PLURAL, self.name, {"spec": spec})

    def replaced(self, before: set[str], count: int = 2, timeout_s: float = 300) -> None:
        """Wait until no Pod of before is left and so many are Ready."""
        wait_for("other Pods", lambda: not before & self.uids(), timeout_s)
        self.ready(count, timeout_s)

    def deployed(self) -> None:
        """Wait until the operator says that the newest generation serves."""

        def done() -> bool:
            iec = self.iec()
            status = iec.get("status", {})
            seen = status.get("observedGeneration") == iec["metadata"]["generation"]
            return bool(seen and status["state"] == "DeploymentComplete")

        wait_for(f"{self.name} complete", done, 300)
