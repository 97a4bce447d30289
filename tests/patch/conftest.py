"""One API server for all cases, and each mechanism in turn. `make patch` names the programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduling.controlplane import ControlPlane
from scheduling.processes import Processes

from . import apiserver, policy, webhook
from .cases import CASES
from .judge import attempt
from .mechanism import Mechanism, Place, Start

MECHANISMS: dict[str, Start] = {"webhook": webhook.serving, "policy": policy.serving}
PARAMETERS: dict[str, str] = {key: text for case in CASES for key, text in case.flat().items()}
"""Of all cases that have a parameter object: each has a namespace of its own."""
LISTED = sorted({case.place for case in CASES if case.listed})


@pytest.fixture(scope="session")
def programs() -> Path:
    """Folder of kube, etcd, helm and render."""
    folder = os.environ.get("PROGRAMS")
    if not folder:
        pytest.fail("PROGRAMS is not set. fix: make patch, or set it to a folder with kube, etcd, helm, render")
    return Path(folder)


@pytest.fixture(scope="session")
def server(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Processes]]:
    """The API server with the namespaces of all cases, and what starts programs beside it."""
    with apiserver.running(programs, tmp_path_factory.mktemp("api-server")) as (plane, processes):
        apiserver.namespaces(plane.api, sorted({case.place for case in CASES}))
        yield plane, processes


@pytest.fixture(scope="session")
def plane(server: tuple[ControlPlane, Processes]) -> ControlPlane:
    """The API server."""
    return server[0]


@pytest.fixture(scope="session")
def place(server: tuple[ControlPlane, Processes], programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Where mechanisms run."""
    return Place(*server, programs, tmp_path_factory.mktemp("mechanism"), LISTED)


@pytest.fixture(scope="session", params=MECHANISMS)
def mechanism(request: pytest.FixtureRequest, place: Place) -> Iterator[Mechanism]:
    """Each mechanism in turn, with the parameters of all cases. In between none acts."""
    with MECHANISMS[request.param](place) as running:
        running.parameters(PARAMETERS)
        yield running
    plain = next(case for case in CASES if case.name == "plain")
    tried = attempt(place.plane.api, plain.place, plain.pod)
    assert tried.pod is not None
    assert "tkc-l2" not in [volume["name"] for volume in tried.pod["spec"]["volumes"]]
