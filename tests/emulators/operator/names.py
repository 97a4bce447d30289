"""Names and labels of what the operator makes."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

GROUP = "inference.sagemaker.aws.amazon.com"
PLURAL = "inferenceendpointconfigs"
SYSTEM = "hyperpod-inference-system"
"""Namespace of operator and routers (observed)."""

IEC_NAME, IEC_NAMESPACE = f"{GROUP}/emulated-iec-name", f"{GROUP}/emulated-iec-namespace"
"""Labels by which the emulator finds its own objects again."""


class Names:
    """Names for one IEC.

    Args:
        iec: the resource, with name and namespace.
    """

    def __init__(self, iec: Json) -> None:
        self.iec: str = iec["metadata"]["name"]
        self.namespace: str = iec["metadata"]["namespace"]

    @property
    def router(self) -> str:
        """Label `app` of the router's Pods (observed), and its Deployment (inferred)."""
        return f"{self.iec}-{self.namespace}-router"

    @property
    def router_service(self) -> str:
        """In the namespace SYSTEM (observed)."""
        return f"{self.iec}-{self.namespace}-routing-service"

    @property
    def service(self) -> str:
        """In the IEC's namespace (observed)."""
        return f"{self.iec}-routing-service"

    @property
    def lmcache_config(self) -> str:
        """ConfigMap behind the volume `lmcache-config` (the volume is observed, the ConfigMap inferred)."""
        return f"{self.iec}-lmcache-config"

    @property
    def own_labels(self) -> dict[str, str]:
        """On every object, none of them on Pods."""
        return {IEC_NAME: self.iec, IEC_NAMESPACE: self.namespace}

    @property
    def pod_labels(self) -> dict[str, str]:
        """Of the worker's Pods (observed)."""
        return {"app": self.iec, "deploying-service": "hyperpod-inference"}
