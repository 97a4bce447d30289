"""A release with a pool of Curvine of its own: masters, workers and mounts on the local cluster's two nodes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster import kube
from local_cluster.helm import Helm
from local_cluster.providers.kind import Kind
from local_cluster.run import output
from local_cluster.settings import NODE_SHARED, PLACES

from ..api import Api, wait_for
from ..conftest import MODEL, VALUES
from ..engines import Engines
from .images import given_image, hooks_image
from .names import CLAIM, DISK, RELEASE, SIZE
from .parts import Pool

HERE = Path(__file__).parent
MASTERS = PLACES.state / "shared" / "curvine-masters"
Install = Callable[..., Engines]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.curvine)


@pytest.fixture(scope="session")
def archives(images: dict[str, str]) -> dict[str, Path]:
    """Archives of the images of the pool's Pods that are in the nodes by archive, by reference."""
    given = os.environ.get("CURVINE_IMAGE", "")
    if not given:
        pytest.skip("CURVINE_IMAGE names no image of Curvine: a reference, or the path of an archive")
    reference, archive = given_image(given)
    return {reference: archive} if archive else {}


@pytest.fixture(scope="session")
def curvine_image(archives: dict[str, Path]) -> str:
    """Curvine's, in the nodes."""
    Kind().load(archives)
    return next(iter(archives), os.environ.get("CURVINE_IMAGE", ""))


@pytest.fixture(scope="session")
def third_node(archives: dict[str, Path], images: dict[str, str]) -> None:
    """Lets masters run on the control plane: three of them stand on three nodes."""
    reference = images["hooks"]
    Kind().load({**archives, reference: hooks_image(reference)}, Kind().nodes()[:1])


@pytest.fixture(scope="session")
def nodes() -> Callable[..., str]:
    """(node, command ...) -> its output, on a node of the cluster."""
    kind = Kind()

    def run(node: str, *command: str) -> str:
        return output(kind.engine.words("exec", node, *command), env=kind.engine.env)

    return run


@pytest.fixture(scope="session")
def workers() -> list[str]:
    """Names of the nodes that run Pods."""
    return Kind().nodes()[1:]


@pytest.fixture(scope="session")
def csi_images() -> dict[str, dict[str, str]]:
    """Values of the driver's and the sidecars' images, by their keys below curvine.client.csi."""
    wanted = {"CURVINE_CSI_IMAGE": "", "CSI_PROVISIONER_IMAGE": "provisioner", "CSI_REGISTRAR_IMAGE": "registrar"}
    missing = [name for name in wanted if not os.environ.get(name)]
    if missing:
        pytest.skip(
            f"{', '.join(missing)} named no image, each a reference or the path of an archive: mode csi is not tried"
        )
    found = {}
    for name, part in wanted.items():
        reference, archive = given_image(os.environ[name])
        if archive:
            Kind().load({reference: archive})
        repository, _, tag = reference.rpartition(":")
        found[part] = {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"}
    return found


def master_volumes(kubeconfig: Path, namespace: str, count: int) -> None:
    """A volume for each master's claim, the same on each node: a disk that follows its Pod."""
    core = kube.core(kubeconfig)
    for number in range(count):
        claim = f"{CLAIM}{number}"
        name = f"{namespace}-{claim}"
        if name in {volume.metadata.name for volume in core.list_persistent_volume().items}:
            continue
        folder = MASTERS / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        # Writable for the masters' user, as a CSI volume is by fsGroup.
        os.chown(folder, 10001, 10001)
        spec = {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "by-hand", "claimRef": {"name": claim, "namespace": namespace},
            "hostPath": {"path": f"{NODE_SHARED}/{MASTERS.name}/{number}", "type": "Directory"},
        }  # fmt: skip
        core.create_persistent_volume({"metadata": {"name": name}, "spec": spec})


def splice() -> bool:
    """Whether curvine-fuse may enlarge its pipes here; where not even root may, it would not start."""
    mask = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapBnd"))
    return bool(int(mask.split()[1], 16) >> 24 & 1)


@pytest.fixture(scope="session")
def values(curvine_image: str) -> dict[str, Any]:
    repository, _, tag = curvine_image.rpartition(":")
    return {
        "l2": {"volume": {"type": "curvine", "hostPath": {"path": ""}, "size": SIZE}},
        "curvine": {
            "image": {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"},
            "masters": {
                "storage": {"storageClass": "by-hand", "size": "1Gi"},
                "tolerations": [{"operator": "Exists"}],
                "resources": {"requests": {"cpu": "50m"}},
            },
            "workers": {
                "disk": {"path": DISK, "size": SIZE, "reserve": "1Gi"},
                "resources": {"requests": {"cpu": "50m"}},
            },
            # None of our images is on the control plane.
            "client": {"resources": {"requests": {"cpu": "50m"}}, "tolerations": []},
            "config": {"fuse": {"enable_splice": splice()}},
        },
    }


@pytest.fixture(scope="session")
def wiped(nodes: Callable[..., str], workers: list[str]) -> Callable[[], None]:
    """Empties the workers' disks: what machines look like before the first install."""

    def wipe() -> None:
        for node in workers:
            nodes(node, "sh", "-c", f"rm -rf {DISK} && mkdir -p {DISK}")

    return wipe


class Release:
    """The pool's release on masters' volumes of its own.

    Args:
        values: over those of tests/cluster/values/tiny.yaml.
        file: where the values of the last install or upgrade lie.
    """

    def __init__(self, helm: Helm, api: Api, values: dict[str, Any], file: Path) -> None:
        self.helm, self.api, self._values, self._file = helm, api, values, file

    def apply(self, masters: int = 1, replicas: int = 2, **more: Any) -> Engines:
        """Install or upgrade; the engines, ready.

        Args:
            masters: in the group.
            replicas: of the engine.
            more: values over all others.
        """
        master_volumes(self.helm.kubeconfig, self.helm.namespace, masters)
        own = {"curvine": {"masters": {"replicas": masters}}, "models": {MODEL: {"replicas": replicas}}}
        self._file.write_text(json.dumps(overlay(overlay(self._values, own), more)))
        done = self.helm.upgrade("-f", str(self._file))
        assert done.ok, done.text
        engines = Engines(self.api, self.helm.namespace, RELEASE, MODEL)
        engines.ready(replicas)
        return engines

    def uninstall(self) -> None:
        """Remove it, and wait until its Pods are gone."""
        done = self.helm.uninstall()
        assert done.ok, done.text
        wait_for("no Pod of the release", lambda: not self._pods(), 240)

    def _pods(self) -> list[Any]:
        label = f"app.kubernetes.io/instance={RELEASE}"
        return list(self.api.core.list_namespaced_pod(self.helm.namespace, label_selector=label).items)

    def forget_masters(self) -> None:
        """Remove the masters' claims, which outlive an uninstall, and their volumes, also those of a run that was killed.

        What the volumes held goes with them, as a provisioner's would.
        """
        core, namespace = self.api.core, self.helm.namespace
        for name in self.claims():
            core.delete_namespaced_persistent_volume_claim(name, namespace)
        volumes = {f"{namespace}-{CLAIM}{number}" for number in range(3)}

        def left() -> set[str]:
            return volumes & {volume.metadata.name for volume in core.list_persistent_volume().items}

        for name in left():
            core.delete_persistent_volume(name)
        wait_for("no volume of the masters", lambda: not left() and not self.claims())
        shutil.rmtree(MASTERS, ignore_errors=True)

    def claims(self) -> dict[str, str]:
        """Names of the masters' claims, and their uids."""
        found = self.api.core.list_namespaced_persistent_volume_claim(self.helm.namespace).items
        return {c.metadata.name: c.metadata.uid for c in found if c.metadata.name.startswith(CLAIM)}


def overlay(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both, leaf by leaf, as Helm lays values over one another."""
    both = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            both[key] = overlay(below[key], above[key])
    return both


@pytest.fixture(scope="session")
def release(
    helm: Helm, api: Api, image_values: list[Path], values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The release; not installed yet."""
    own = Helm(helm.kubeconfig, helm.namespace, RELEASE, [VALUES, *image_values])
    made = Release(own, api, values, tmp_path_factory.mktemp("pool") / "values.json")
    yield made
    made.uninstall()


@pytest.fixture(scope="session")
def pool(api: Api, namespace: str, nodes: Callable[..., str]) -> Pool:
    """The release's Pods that are the pool."""
    return Pool(api, namespace, nodes)


@pytest.fixture(scope="session")
def new_pool(release: Release, wiped: Callable[[], None]) -> Install:
    """Release.apply on empty volumes and disks, whatever was installed before."""

    def made(masters: int = 1, replicas: int = 2, **more: Any) -> Engines:
        release.uninstall()
        release.forget_masters()
        wiped()
        return release.apply(masters, replicas, **more)

    return made
