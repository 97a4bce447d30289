"""Fixtures of the property tests. RENDER names the program of tools/go/render; `make property` builds it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from chart.helm import Helm
from property.renderer import Renderer, of_the_chart


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    """One process for all questions of this worker."""
    with of_the_chart() as running:
        yield running


@pytest.fixture(scope="session")
def helm() -> Helm:
    """The real command line, to compare with."""
    path = os.environ.get("HELM")
    if not path:
        pytest.fail("HELM is not set. fix: make property, or set it to a helm 4")
    return Helm(path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many trees were tried and how they ended; also when workers ran the tests."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "outcomes":
                terminalreporter.write_line(str(value))
