"""The kind cluster with our images in its nodes, and one small release that the tests share.

`make cluster` brings the cluster up first and names it by pytest-helm-charts' options. The tests talk to the API
server and to the service as a user would.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from local_cluster import diagnostics, volumes
from local_cluster.helm import Helm
from local_cluster.images import REPOSITORY
from local_cluster.settings import NODE_SHARED, PLACES

from .api import Api

NAMESPACE = "tkc-test"
RELEASE = "tiny"
MODEL = "tiny"
VALUES = Path(__file__).parent / "values" / "tiny.yaml"

# One release lives through all of it, so the order of the modules is its life.
ORDER = [
    "test_bad_input",
    "test_apart",
    "test_install",
    "test_plan",
    "test_storage_check",
    "test_router",
    "test_l2_guard",
    "test_dtypes",
    "test_broken",
    "test_upgrade",
    "test_uninstall",
    "test_upgrade_from_previous",
    "test_weights",
    "test_keeper",
    "test_not_shared",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: ORDER.index(item.path.stem) if item.path.stem in ORDER else -1)


@pytest.fixture(scope="session")
def kubeconfig(pytestconfig: pytest.Config) -> Path:
    """The cluster that `make cluster` brought up; the option is pytest-helm-charts' own."""
    return Path(pytestconfig.getoption("kubeconfig"))


@pytest.fixture(scope="session")
def api(kubeconfig: Path) -> Api:
    return Api(kubeconfig)


@pytest.fixture(scope="session")
def image_values() -> list[Path]:
    """The values file with the tags of the images in the nodes; `make cluster` wrote it."""
    return [PLACES.state / "images.yaml"]


@pytest.fixture(scope="session")
def images(image_values: list[Path]) -> dict[str, str]:
    """Short name -> reference of the images in the nodes."""
    values = yaml.safe_load(image_values[0].read_text())
    tags = {
        "engine-cpu": values["defaults"]["engine"]["image"]["tag"],
        "hooks": values["hooks"]["image"]["tag"],
        "router": values["router"]["image"]["tag"],
    }
    return {name: f"{REPOSITORY}/{name}:{tag}" for name, tag in tags.items()}


@pytest.fixture(scope="session")
def namespace(kubeconfig: Path, api: Api) -> Iterator[str]:
    """The tests' namespace."""
    yield from fresh_namespace(kubeconfig, api, NAMESPACE)


def fresh_namespace(kubeconfig: Path, api: Api, name: str) -> Iterator[str]:
    """A namespace with the claim of the model folders, and its end; what an earlier, killed run left is removed first."""
    volumes.remove_namespace(kubeconfig, name)
    api.wait_namespace_gone(name)
    volumes.ensure_namespace(kubeconfig, name)
    volumes.ensure_models_claim(kubeconfig, name)
    yield name
    volumes.remove_namespace(kubeconfig, name)


@contextmanager
def own_volume(name: str) -> Iterator[tuple[Path, str]]:
    """A folder that all nodes share, empty, and its end: here and on the nodes.

    On a volume where another release's keeper works, such as the demo's, a release's own would wait.
    """
    folder = PLACES.state / "shared" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o1777)
    try:
        yield folder, f"{NODE_SHARED}/{name}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def helm(kubeconfig: Path, namespace: str, image_values: list[Path]) -> Helm:
    return Helm(kubeconfig, namespace, RELEASE, [VALUES, *image_values])


@pytest.fixture(scope="session")
def release(helm: Helm, api: Api) -> Helm:
    """The release, installed and ready."""
    done = helm.upgrade(wait_s=600)
    assert done.ok, done.text
    return helm


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Write a diagnostic bundle for each failure and name it in the report."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed and "kubeconfig" in getattr(item, "funcargs", {}):
        bundle = diagnostics.collect(item.funcargs["kubeconfig"], [NAMESPACE], item.name)  # type: ignore[attr-defined]
        report.sections.append(("diagnostic bundle", str(bundle)))
