"""All admission cases through the pure function; tests/patch runs the same through an API server."""

from __future__ import annotations

import copy

import pytest

from patch.cases import CASES
from patch.cases.model import Case, Patched, Refused, Untouched
from tiered_kv_cache.patch import apply, outcome

LISTED = [case for case in CASES if case.listed]


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 45


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    before = copy.deepcopy(case.pod)
    data = None if case.parameters is None else case.flat()
    if isinstance(case.expected, Refused):
        with pytest.raises(outcome.Refused) as refusal:
            apply.patch(case.pod, data, case.place)
        message = str(refusal.value)
        assert message.startswith("tiered-kv-cache L2 patch: ")
        assert [text for text in case.expected.texts if text not in message] == []
        return
    found = apply.patch(case.pod, data, case.place)
    assert case.pod == before
    assert found.pod == case.result()
    expected = case.expected.warnings if isinstance(case.expected, Patched) else ()
    assert len(found.warnings) == len(expected)
    assert [text for text in expected if not any(text in warning for warning in found.warnings)] == []
    if isinstance(case.expected, Untouched):
        assert found.pod is case.pod
        return
    assert apply.patch(found.pod, data, case.place).pod == found.pod
