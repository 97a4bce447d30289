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

from ..api import Api
from ..conftest import MODEL, VALUES
from ..engines import Engines
from .images import reference_in_nodes

HERE = Path(__file__).parent
DISK = "/var/lib/tkc-test-disk"
"""On each node: a volume of its own lies at /var there."""
RELEASE = "pool"
MASTERS = PLACES.state / "shared" / "curvine-masters"
Install = Callable[..., Engines]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.curvine)


@pytest.fixture(scope="session")
def curvine_image() -> str:
    given = os.environ.get("CURVINE_IMAGE", "")
    if not given:
        pytest.skip("CURVINE_IMAGE names no image of Curvine: a reference, or the path of an archive")
    return reference_in_nodes(given)


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
        repository, _, tag = reference_in_nodes(os.environ[name]).rpartition(":")
        found[part] = {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"}
    return found


def master_volumes(kubeconfig: Path, namespace: str, count: int) -> None:
    """A volume for each master's claim, the same on each node: a disk that follows its Pod."""
    core = kube.core(kubeconfig)
    for number in range(count):
        claim = f"data-{RELEASE}-curvine-master-{number}"
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
        "l2": {"volume": {"type": "curvine", "hostPath": {"path": ""}, "size": "4Gi"}},
        "curvine": {
            "image": {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"},
            "masters": {
                "storage": {"storageClass": "by-hand", "size": "1Gi"},
                "resources": {"requests": {"cpu": "50m"}},
            },
            "workers": {
                "disk": {"path": DISK, "size": "4Gi", "reserve": "1Gi"},
                "resources": {"requests": {"cpu": "50m"}},
            },
            # None of our images is on the control plane.
            "client": {"resources": {"requests": {"cpu": "50m"}}, "tolerations": []},
            "config": {"fuse": {"enable_splice": splice()}},
        },
    }


@pytest.fixture(scope="session")
def wiped(nodes: Callable[..., str], workers: list[str]) -> Callable[[], None]:
    """Empties masters' volumes and workers' disks: what machines look like before the first install."""

    def wipe() -> None:
        shutil.rmtree(MASTERS, ignore_errors=True)
        for node in workers:
            nodes(node, "sh", "-c", f"rm -rf {DISK} && mkdir -p {DISK}")

    return wipe


@pytest.fixture(scope="session")
def upgrade(
    helm: Helm, image_values: list[Path], values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Installs or upgrades the release with more values over those of the tests."""
    release = Helm(helm.kubeconfig, helm.namespace, RELEASE, [VALUES, *image_values])
    override = tmp_path_factory.mktemp("pool") / "values.json"

    def apply(more: dict[str, Any]) -> None:
        override.write_text(json.dumps(overlay(values, more)))
        done = release.upgrade("-f", str(override))
        assert done.ok, done.text

    yield apply
    release.uninstall()


def overlay(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both, leaf by leaf, as Helm lays values over one another."""
    both = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            both[key] = overlay(below[key], above[key])
    return both


@pytest.fixture(scope="session")
def install(upgrade: Callable[[dict[str, Any]], None], api: Api, helm: Helm, wiped: Callable[[], None]) -> Install:
    """(masters, replicas of the engine, other values) -> the engines, ready."""
    wiped()

    def made(masters: int = 1, replicas: int = 2, **more: Any) -> Engines:
        master_volumes(helm.kubeconfig, helm.namespace, masters)
        upgrade({"curvine": {"masters": {"replicas": masters}}, "models": {MODEL: {"replicas": replicas}}, **more})
        engines = Engines(api, helm.namespace, RELEASE, MODEL)
        engines.ready(replicas)
        return engines

    return made
