"""UPDATE and subresources of Pods that run, patched or not: neither touched nor denied."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scheduling.api import Api
from scheduling.controlplane import ControlPlane

from . import running
from .cases.model import Json
from .conftest import PLACE
from .mechanism import Mechanism


@pytest.fixture
def patched(mechanism: Mechanism, plane: ControlPlane) -> Iterator[str]:
    running.create(plane.api, PLACE, "patched")
    yield "patched"
    plane.api.delete(f"/api/v1/namespaces/{PLACE}/pods/patched")


def _names(pod: Json) -> list[str]:
    """Of volumes, and of the environment of all containers, that the patch could have touched."""
    env = [entry["name"] for each in pod["spec"]["containers"] for entry in each.get("env", ())]
    return [*(volume["name"] for volume in pod["spec"]["volumes"]), *env]


@pytest.mark.parametrize("act", running.ACTS)
def test_unpatched(act: str, mechanism: Mechanism, plane: ControlPlane) -> None:
    _unchanged(plane.api, "unpatched", act, there=False)


@pytest.mark.parametrize("act", running.ACTS)
def test_patched(act: str, patched: str, plane: ControlPlane) -> None:
    _unchanged(plane.api, patched, act, there=True)


def _unchanged(api: Api, name: str, act: str, there: bool) -> None:
    path = f"/api/v1/namespaces/{PLACE}/pods/{name}"
    before = api.get(path)
    after = running.ACTS[act](api, path)
    assert ("tkc-l2" in _names(before)) is there
    assert _names(after) == _names(before)
