"""What only a node's own programs can do: kill a container's first process, give an image a second name."""

from __future__ import annotations

from kubernetes import client

from local_cluster.providers.kind import Kind
from local_cluster.run import output


class Nodes:
    """The nodes of the kind cluster."""

    def __init__(self) -> None:
        self._kind = Kind()

    def kill(self, pod: client.V1Pod, container: str, signal: str = "SIGKILL") -> None:
        """Signal a container's first process. From inside nothing can: the kernel shields the first process of a Pod."""
        (identity,) = [s.container_id for s in pod.status.container_statuses if s.name == container]
        self._ctr(pod.spec.node_name, "tasks", "kill", "-s", signal, identity.removeprefix("containerd://"))

    def tag(self, image: str, alias: str) -> None:
        """Let an image be found under a second name as well, on every node that runs Pods."""
        for node in self._kind.nodes()[1:]:
            self._ctr(node, "images", "tag", "--force", image, alias)

    def untag(self, alias: str) -> None:
        for node in self._kind.nodes()[1:]:
            self._ctr(node, "images", "rm", alias)

    def _ctr(self, node: str, *arguments: str) -> None:
        engine = self._kind.engine
        output(engine.words("exec", node, "ctr", "-n", "k8s.io", *arguments), env=engine.env)
