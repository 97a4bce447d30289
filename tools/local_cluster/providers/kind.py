"""A kind cluster of this machine: one control plane, two workers."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from pathlib import Path

import yaml

from ..host import checks, engine, gotools, netns, podman
from ..host import forward as forwarder
from ..node import image as node_image
from ..node.store import Seed
from ..problem import Problem
from ..progress import phase, say
from ..run import output, run
from ..settings import (
    API_PORT,
    CLUSTER,
    MIN_FREE_DISK_GB,
    MIN_FREE_DISK_WARM_GB,
    NODE_PORT,
    NODE_SHARED,
    NODES,
    PLACES,
    URL_PORT,
)
from . import dns, kind_config
from .health import wait_ready

_IMAGES_IN_NODE = "/mnt/tkc-images"

KIND_NODE_IMAGE = (
    "docker.io/kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5"
)
"""The node image that this version of kind was released with."""


class Kind:
    """kind on docker or podman, with a pulled node image or one built here."""

    local_images = True

    def __init__(self) -> None:
        self.kubeconfig = PLACES.kubeconfig
        self.url_port = checks.port("TKC_URL_PORT", URL_PORT)
        self.api_port = checks.port("TKC_API_PORT", API_PORT)
        self._engine: engine.Engine | None = None

    @property
    def engine(self) -> engine.Engine:
        self._engine = self._engine or engine.find()
        return self._engine

    def url(self) -> str:
        return f"http://127.0.0.1:{self.url_port}"

    def nodes(self) -> list[str]:
        """Names of the node containers, control plane first."""
        workers = [f"{CLUSTER}-worker{i or ''}" for i in (0, *range(2, NODES.count("worker") + 1))]
        return [f"{CLUSTER}-control-plane", *workers]

    def up(self, archives: dict[str, Path]) -> None:
        if self._alive():
            say("cluster: already running")
        else:
            self._create(archives)
        self.load(archives)

    def check(self) -> None:
        """Refuse a machine that cannot hold the cluster, before anything is built."""
        if (PLACES.state / "cluster.json").exists():
            return  # `up` finds out whether it still runs
        forwarder.stop()
        self._check_machine()

    def _check_machine(self) -> None:
        # A filled cache is most of what a cluster needs.
        disk = MIN_FREE_DISK_WARM_GB if (PLACES.cache / "node-store").exists() else MIN_FREE_DISK_GB
        ports = {self.api_port: "TKC_API_PORT", self.url_port: "TKC_URL_PORT"}
        checks.check_machine(ports, min_disk_gb=disk)

    def prepare(self) -> None:
        """Build what a new cluster needs, apart from the images of our own Pods."""
        tools = gotools.missing_cli("kind", "helm")
        if self._own_image and not self._alive():
            gotools.ensure({**gotools.NODE, **tools})
            node_image.build()
        else:
            gotools.ensure(tools)

    def down(self) -> None:
        """Remove the cluster and its state; also when everything it had started was killed."""
        if not (PLACES.state.exists() or netns.usable() or PLACES.engine.exists()):
            return
        with phase("remove the cluster"):
            forwarder.stop()
            if self.engine.isolated:
                netns.ensure()
                podman.remove_everything()
                netns.delete()
            else:
                kind = gotools.ensure_cli("kind")
                output([kind, "delete", "cluster", "--name", CLUSTER], env=self.engine.env, check=False, timeout_s=180)
            shutil.rmtree(PLACES.state, ignore_errors=True)

    def _alive(self) -> bool:
        """Whether the nodes run, the API answers, and the cluster is the one that these tools would make."""
        state = PLACES.state / "cluster.json"
        if not state.exists():
            return False
        if json.loads(state.read_text()).get("config") != self._fingerprint():
            say("cluster: made by another version of these tools or with other ports; replacing it")
            return False
        if not all(self._runs(node) for node in self.nodes()):
            return False
        if self.engine.isolated:
            forwarder.ensure([self.api_port, self.url_port])
        return wait_ready(self.kubeconfig, len(NODES), timeout_s=45)

    def _runs(self, node: str) -> bool:
        """Whether the node's first process lives; after a hard kill podman itself still says that it runs."""
        pid = output(
            self.engine.words("inspect", "-f", "{{.State.Pid}}", node), env=self.engine.env, check=False
        ).strip()
        return pid not in ("", "0") and (not self.engine.isolated or Path(f"/proc/{pid}").exists())

    def _fingerprint(self) -> str:
        return hashlib.sha256(repr((kind_config.__doc__, self._config(), KIND_NODE_IMAGE)).encode()).hexdigest()

    def _config(self) -> dict[str, object]:
        stores = [PLACES.state / f"node-{index}" for index in range(len(NODES))]
        return kind_config.config(
            api_port=self.api_port, url_port=self.url_port, node_port=NODE_PORT, isolated=self.engine.isolated,
            shared=PLACES.state / "shared", models=PLACES.models, images=PLACES.images, stores=stores if self._own_image else [],
            in_node=(NODE_SHARED, _IMAGES_IN_NODE),
        )  # fmt: skip

    @property
    def _own_image(self) -> bool:
        """Whether the node image is built here. A pulled one is used when the engine has or can get it."""
        return self._node_image() == ""

    def _node_image(self) -> str:
        marker = PLACES.cache / f"node-image-source-{self.engine.name}"
        if Path("/sys/fs/cgroup/memory").exists():
            return ""  # control groups v1: that image's kubelet refuses them, ours is told to accept them
        if not marker.exists():
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.write_text(KIND_NODE_IMAGE if self._pull(KIND_NODE_IMAGE) else "")
        return marker.read_text()

    def _pull(self, reference: str) -> bool:
        """Try to pull; a registry that refuses or hangs is said and then done without."""
        with phase(f"pull {reference}", "saves building the node image"):
            words = ["docker"] if not self.engine.isolated else ["podman"]
            try:
                run([*words, "pull", "-q", reference], log="node-image", env=self.engine.env, timeout_s=300)
            except Problem as problem:
                say(f"  cannot pull: {problem.what.splitlines()[-1].strip()[:160]}")
                say("  building the node image from Debian packages and Go modules instead")
                return False
        return True

    def _create(self, archives: dict[str, Path]) -> None:
        self.down()
        self._check_machine()
        Path("/lib/modules").mkdir(exist_ok=True)  # kind mounts it into the nodes; a kernel without modules has none
        for directory in (PLACES.state / "shared" / "l2", PLACES.models, PLACES.images):
            directory.mkdir(parents=True, exist_ok=True)
        (PLACES.state / "shared" / "l2").chmod(0o1777)
        kind = gotools.ensure_cli("kind")
        if self.engine.isolated:
            netns.ensure()
            podman.ensure_network()
        image = self._prepare_nodes(archives) if self._own_image else self._node_image()
        config = PLACES.state / "kind.yaml"
        config.write_text(yaml.safe_dump(self._config(), sort_keys=False))
        with phase("kind create cluster", f"{len(NODES)} nodes on {self.engine.name}"):
            run(
                self.engine.inside([str(kind), "create", "cluster", "--name", CLUSTER, "--config", str(config), "--image", image,
                                    "--kubeconfig", str(self.kubeconfig), "--retain"]),
                log="kind", env=self.engine.env, timeout_s=600, fix="read the log; `make down` clears what is left",
            )  # fmt: skip
        if self.engine.isolated:
            forwarder.ensure([self.api_port, self.url_port])
            dns.drop_upstream(self.kubeconfig)
        with phase("nodes Ready"):
            if not wait_ready(self.kubeconfig, len(NODES), timeout_s=180):
                raise Problem(
                    "the nodes did not become Ready within 180 s",
                    "`make down`, then again; logs are in " + str(PLACES.logs),
                )
        (PLACES.state / "cluster.json").write_text(json.dumps({"config": self._fingerprint(), "made": time.time()}))

    def _prepare_nodes(self, archives: dict[str, Path]) -> str:
        """Build and load the node image, fill the seed store and clone it for each node; returns the image's name."""
        image = node_image.build()
        node_image.load(image, self.engine.env, self.engine.words())
        seed = Seed(image.programs, image.archive.parent.name)
        seed.fill({node_image.KUBE_ROUTER_IMAGE: image.components, **archives})
        with phase("nodes' image stores", "hard links to the unpacked images"):
            for index in range(len(NODES)):
                seed.clone(PLACES.state / f"node-{index}")
        return image.name

    def load(self, archives: dict[str, Path], nodes: list[str] | None = None) -> None:
        """Put images that a running node lacks into it, from the archive folder that all nodes mount (PLACES.images).

        Args:
            archives: archive of each image, by the reference that it has in the nodes.
            nodes: which ones; by default all but the control plane, where none of our Pods runs.
        """
        for node in nodes or self.nodes()[1:]:
            ctr = self.engine.words("exec", node, "ctr", "-n", "k8s.io", "images")
            present = set(output([*ctr, "ls", "-q"], env=self.engine.env).split())
            for name, archive in archives.items():
                if name not in present:
                    with phase(f"load {archive.name} into {node}"):
                        place = f"{_IMAGES_IN_NODE}/{archive.relative_to(PLACES.images)}"
                        run(
                            [*ctr, "import", "--local", "--discard-unpacked-layers", place],
                            log="load",
                            env=self.engine.env,
                            timeout_s=900,
                            fix="see the log",
                        )
