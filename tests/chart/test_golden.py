"""Every values file renders what tests/chart/golden says, so that a change of the chart is reviewed as a diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from chart.cases import VALUES_FILES
from chart.helm import Helm

GOLDEN = Path(__file__).with_name("golden")


def normal(text: str) -> str:
    """Without blank lines: Helm 4 puts one behind each document, Helm 3 does not."""
    return "".join(line for line in text.splitlines(keepends=True) if line.strip())


@pytest.mark.parametrize("values", VALUES_FILES, ids=lambda path: path.stem)
def test_render_equals_golden(helm: Helm, values: Path, request: pytest.FixtureRequest) -> None:
    target = GOLDEN / values.name
    text = normal(helm.template(files=(values,)).text)
    if request.config.getoption("--update-golden"):
        GOLDEN.mkdir(exist_ok=True)
        target.write_text(text)
    assert target.exists(), f"{target.name} has no golden manifests. fix: make golden, and review the diff"
    assert text == target.read_text(), "the render differs. fix: if that is meant, make golden, and review the diff"


def test_no_golden_file_is_orphaned() -> None:
    assert {path.name for path in GOLDEN.glob("*")} == {path.name for path in VALUES_FILES}
