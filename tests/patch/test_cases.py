"""All admission cases through each mechanism, on a real API server."""

from __future__ import annotations

import pytest

from scheduling.controlplane import ControlPlane

from .cases import CASES
from .cases.model import Case
from .conftest import PARAMETERS
from .judge import faults
from .mechanism import Mechanism

WITH = [case for case in CASES if case.parameters is not None]
WITHOUT = [case for case in CASES if case.parameters is None]


@pytest.mark.parametrize("case", WITH, ids=lambda case: case.name)
def test_case(case: Case, mechanism: Mechanism, plane: ControlPlane) -> None:
    assert faults(plane.api, case) == []


@pytest.mark.parametrize("case", WITHOUT, ids=lambda case: case.name)
def test_without_a_parameter_object(case: Case, mechanism: Mechanism, plane: ControlPlane) -> None:
    mechanism.parameters(None)
    try:
        assert faults(plane.api, case, mechanism.missing) == []
    finally:
        mechanism.parameters(PARAMETERS)
