"""A real API server and the namespaces of all cases. Pods are only ever tried (server-side dry run), so it needs no controllers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from scheduling.api import Api
from scheduling.controlplane import ControlPlane, start_api
from scheduling.processes import Processes

PLAIN = "plain"
"""Namespace that no mechanism is told about."""
SYSTEM = "tkc-system"
"""Namespace of the release that the mechanism belongs to."""


@contextmanager
def running(programs: Path, folder: Path) -> Iterator[tuple[ControlPlane, Processes]]:
    """An API server in a folder, and what starts further programs; all ended afterwards."""
    processes = Processes(folder)
    try:
        # Service accounts of a namespace would be made by a controller.
        plane = start_api(programs, folder, processes, without=("ServiceAccount",))
        namespaces(plane.api, (PLAIN, SYSTEM))
        yield plane, processes
    finally:
        processes.stop()


def namespaces(api: Api, names: Iterable[str]) -> None:
    """Make those that are not there."""
    for name in names:
        try:
            api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except httpx.HTTPStatusError as err:
            if err.response.status_code != 409:
                raise
