"""Fixtures of the chart tests. They need a helm: the one that HELM names, or the first in PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from chart.helm import Helm
from promrules import Observed, PromRules


@pytest.fixture(scope="session")
def helm() -> Helm:
    """The helm under test."""
    path = os.environ.get("HELM") or shutil.which("helm")
    if not path:
        pytest.fail(
            "no helm. fix: set HELM to one (version 3.14 or later), or put it in PATH; `make chart` builds its own"
        )
    return Helm(path)


def _major(path: str) -> str:
    return subprocess.run([path, "version", "--short"], capture_output=True, text=True, check=True).stdout[:2]


@pytest.fixture(scope="session")
def helm_other(helm: Helm) -> Helm:
    """A helm of the other major version: HELM3, or helm3 or helm4 in PATH."""
    for path in (os.environ.get("HELM3"), shutil.which("helm3"), shutil.which("helm4")):
        if path and _major(path) != _major(helm.path):
            return Helm(path)
    pytest.skip("only one major version of helm; `make chart` builds both")


@pytest.fixture(scope="session")
def observed(helm: Helm) -> Observed:
    """The rules of a release that has all parts."""
    return Observed.rendered(helm)


@pytest.fixture(scope="session")
def prometheus() -> Iterator[PromRules]:
    """Prometheus' own rule engine."""
    with PromRules() as running:
        yield running
