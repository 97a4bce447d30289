"""The pool's own Pods, and ways to hurt them."""

from __future__ import annotations

from collections.abc import Callable

from kubernetes import client

from tiered_kv_cache.metrics import Samples

from ..api import Api, wait_for
from .names import DISK, LINE, RELEASE

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

    def remove(self, pod: str) -> None:
        """Delete the Pod; its controller makes another one."""
        self.api.core.delete_namespaced_pod(pod, self.namespace)

    def leader(self) -> client.V1Pod:
        """The master that leads: it alone knows the workers."""
        for pod in self.pods("masters"):
            samples = Samples(self.api.pod_text(pod, 9000, "/metrics"))
            if samples.total("worker_num", tag="live") > 0:
                return pod
        raise AssertionError("no master knows a worker")

    def cut(self, node: str) -> Callable[[], object]:
        """Take a node off the network, as a broken link does: no packet is answered. What mends it."""
        rules = [("INPUT", "-i"), ("FORWARD", "-i"), ("FORWARD", "-o"), ("OUTPUT", "-o")]

        def each(action: str) -> None:
            lines = (f"iptables {action} {chain} {way} eth0 -j DROP" for chain, way in rules)
            self.nodes(node, "sh", "-ec", "; ".join(lines))

        each("-I")
        return lambda: each("-D")

    def rolled_out(self, part: str) -> None:
        """Wait until each Pod of a part is of the newest kind."""
        name = f"{RELEASE}-curvine-{part.removesuffix('s')}"

        def done() -> bool:
            if part == "masters":
                state = self.api.apps.read_namespaced_stateful_set(name, self.namespace)
                whole = state.status.updated_replicas == state.spec.replicas == state.status.ready_replicas
            else:
                state = self.api.apps.read_namespaced_daemon_set(name, self.namespace)
                wanted = state.status.desired_number_scheduled
                whole = state.status.updated_number_scheduled == wanted == state.status.number_ready
            return bool(whole and state.status.observed_generation == state.metadata.generation)

        wait_for(f"{part} rolled out", done, 240)

    def fill(self, node: str) -> Callable[[], object]:
        """Write through the mount of a node until the pool takes no more, as root, whom no quota holds. What empties it again."""
        pod = self.on("client", node).metadata.name

        def run(script: str) -> str:
            return self.api.run(self.namespace, pod, "mount", ["sh", "-c", f"cd /pool/{LINE}/fs && {script}"]).strip()

        def taken(number: int) -> bool:
            return run(f"dd if=/dev/zero of=filler-{number} bs=1M count=128 2>/dev/null && echo yes || true") == "yes"

        # A worker that was away a moment ago is given no blocks for a while.
        wait_for("room in the pool", lambda: taken(0), 60)
        number, refused = 1, 0
        while refused < 3:
            refused = 0 if taken(number) else refused + 1
            number += 1
        return lambda: run("rm -f filler-*")

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
