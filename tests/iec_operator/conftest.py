"""A real control plane with AWS's definitions, KWOK's nodes, and the emulated operator. `make operator` names the programs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulators.operator.definitions import definitions
from emulators.operator.names import GROUP, PLURAL
from scheduling.api import Api
from scheduling.controlplane import ControlPlane, start
from scheduling.nodes import node
from scheduling.processes import Processes
from unit.emulators.iecs import SPEC, iec

from .running import Endpoint, Json, Operator

_NUMBER = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd, API server, scheduler, controllers, two nodes; all ended afterwards."""
    programs = os.environ.get("PROGRAMS")
    if not programs:
        pytest.fail("PROGRAMS is not set. fix: make operator, or set it to a folder with kube, etcd and kwok")
    folder = tmp_path_factory.mktemp("control-plane")
    processes = Processes(folder)
    try:
        plane = start(Path(programs), folder, processes)
        for each in definitions("3.7"):
            plane.api.apply(each)
        for number in range(2):
            plane.api.create("/api/v1/nodes", node(f"node-{number}", SPEC["instanceType"]))
        plane.api.wait_for(f"/apis/{GROUP}/v1/{PLURAL}")
        yield plane
    finally:
        processes.stop()


@pytest.fixture(scope="session")
def running(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """An operator that the tests start with what they need."""
    made = Operator(cluster.kubeconfig, tmp_path_factory.mktemp("operator"))
    yield made
    made.stop()


@pytest.fixture(scope="session", params=["3.2", "3.7"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def operator(running: Operator, version: str) -> Operator:
    """One of this version, running."""
    running.run(version)
    return running


@pytest.fixture
def endpoint(cluster: ControlPlane, running: Operator) -> Iterator[Endpoint]:
    """A namespace for an endpoint; nothing in it yet, and nothing that the next operator would render at the end."""
    made = Endpoint(cluster.api, _namespace(cluster.api), running)
    yield made
    if made.found(f"{made.path}/{made.NAME}"):
        made.delete()


@pytest.fixture
def complete(operator: Operator, endpoint: Endpoint) -> Endpoint:
    """AWS's example, serving."""
    endpoint.create(example())
    endpoint.complete()
    return endpoint


def example(**changes: object) -> Json:
    """AWS's example with other members of its spec."""
    return iec(**changes)  # type: ignore[arg-type]


def _namespace(api: Api) -> str:
    name = f"endpoint-{next(_NUMBER)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name
