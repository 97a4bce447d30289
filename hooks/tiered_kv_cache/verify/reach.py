"""How verify reaches Pods: by Pod IP inside the cluster, through port forwarding outside."""

from __future__ import annotations

from typing import Protocol

from ..pods import Pod


class Reach(Protocol):
    """A way to a Pod's ports."""

    def url(self, pod: Pod, port: int) -> str:
        """Base URL of ``port`` of ``pod``."""
        ...

    def close(self) -> None:
        """Give up what it holds."""
        ...


class PodIp:
    """Straight to the Pod's address; works on the Pod network."""

    def url(self, pod: Pod, port: int) -> str:
        """See Reach. IPv6 addresses get their brackets."""
        host = f"[{pod.ip}]" if ":" in pod.ip else pod.ip
        return f"http://{host}:{port}"

    def close(self) -> None:
        """See Reach."""
