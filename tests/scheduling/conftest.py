"""One control plane with 100 nodes for all tests of this folder. `make scheduling` names the programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chart.helm import CHART
from property.renderer import Renderer

from .api import Watch
from .controlplane import ControlPlane, start
from .nodes import add_nodes
from .processes import Processes
from .releases import LINES, SIZES, Releases
from .state import State

# The full cluster lives through rollout and drain, so they have an order; AWS's definitions, last, make endpoints of what follows.
ORDER = ["test_admission", "test_autoscaling", "test_rollout", "test_drain", "test_endpoints"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: ORDER.index(item.path.stem) if item.path.stem in ORDER else -1)


@pytest.fixture(scope="session")
def programs() -> Path:
    """Folder of kube, etcd, kwok, helm and render."""
    folder = os.environ.get("PROGRAMS")
    if not folder:
        pytest.fail(
            "PROGRAMS is not set. fix: make scheduling, or set it to a folder with kube, etcd, kwok, helm, render"
        )
    return Path(folder)


@pytest.fixture(scope="session")
def cluster(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd, API server, scheduler, controllers, KWOK and the nodes; all ended afterwards."""
    folder = tmp_path_factory.mktemp("control-plane")
    processes = Processes(folder)
    try:
        plane = start(programs, folder, processes)
        add_nodes(plane.api, processes)
        yield plane
    finally:
        processes.stop()


@pytest.fixture(scope="session")
def renderer(programs: Path) -> Iterator[Renderer]:
    """`helm template`, quickly."""
    with Renderer(str(programs / "render"), CHART) as running:
        yield running


@pytest.fixture(scope="session")
def releases(cluster: ControlPlane, renderer: Renderer) -> Releases:
    return Releases(renderer, cluster.api)


@pytest.fixture(scope="session")
def full(cluster: ControlPlane, releases: Releases) -> Iterator[State]:
    """All lines of business installed and Ready, watched from the first Pod on."""
    state = State(LINES)
    releases.namespaces(LINES)
    with (
        Watch(cluster.api, "/api/v1/pods", state.pod),
        Watch(cluster.api, "/apis/apps/v1/deployments", state.deployment),
    ):
        releases.upgrade(LINES, {"VERSION": "1"})
        state.wait("install", lambda: len(state.deployments) == len(LINES) * len(SIZES), 60)
        state.wait_rolled_out("install")
        yield state
