"""The pool's own Pods, and ways to hurt them."""

from __future__ import annotations

from collections.abc import Callable

from kubernetes import client

from ..api import Api, wait_for
from .conftest import DISK, RELEASE

# From the node: inside its container a first process gets no SIGKILL, and the kernel says nothing of it. Whose a process is,
# the files tell that the kubelet mounts into each container.
KILL = (
    "for p in /proc/[0-9]*; do case $(readlink $p/exe) in */{program}) "
    "grep -q /pods/{uid}/ $p/mountinfo && kill -9 ${{p#/proc/}} && found=1;; esac; done; "
    'test "$found"'
)


class Pool:
    """Pods of one part by the node that they run on."""

    def __init__(self, api: Api, namespace: str, nodes: Callable[..., str]) -> None:
        self.api, self.namespace, self.nodes = api, namespace, nodes

    def pods(self, part: str) -> list[client.V1Pod]:
        """Pods of `masters`, `workers`, `client`, `csi-node` or `csi-controller` that do not end."""
        labels = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=curvine-{part}"
        found = self.api.core.list_namespaced_pod(self.namespace, label_selector=labels).items
        return [pod for pod in found if not pod.metadata.deletion_timestamp]

    def on(self, part: str, node: str) -> client.V1Pod:
        """The Pod of a part on a node."""
        return next(pod for pod in self.pods(part) if pod.spec.node_name == node)

    def kill(self, pod: client.V1Pod, program: str) -> None:
        """SIGKILL to a program of the Pod."""
        self.nodes(pod.spec.node_name, "sh", "-c", KILL.format(program=program, uid=pod.metadata.uid))

    def remove(self, pod: client.V1Pod) -> None:
        """Delete the Pod; its controller makes another one."""
        self.api.core.delete_namespaced_pod(pod.metadata.name, self.namespace)

    def wipe(self, node: str) -> None:
        """Empty the worker's disk of a node, under the worker."""
        self.nodes(node, "sh", "-c", f"rm -rf {DISK}/kv/*")

    def ready(self, part: str, count: int) -> None:
        """Wait until so many Pods of the part are Ready."""

        def all_ready() -> bool:
            pods = self.pods(part)
            conditions = [{c.type: c.status for c in pod.status.conditions or []} for pod in pods]
            return len(pods) == count and all(c.get("Ready") == "True" for c in conditions)

        wait_for(f"{count} ready Pods of {part}", all_ready, 180)
