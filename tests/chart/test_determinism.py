"""Same values, same bytes: in two runs, in another order of keys, and from Helm 3 and Helm 4."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.cases import CASES
from chart.helm import Helm
from chart.test_golden import normal


def _reversed(node: Any) -> Any:
    return {key: _reversed(node[key]) for key in reversed(node)} if isinstance(node, dict) else node


@pytest.mark.parametrize("case", CASES)
def test_same_values_same_bytes(helm: Helm, case: str) -> None:
    first = helm.run("-f", "-", given=json.dumps(CASES[case]))
    second = helm.run("-f", "-", given=json.dumps(_reversed(CASES[case])))
    assert first.text == second.text


@pytest.mark.parametrize("case", CASES)
def test_helm_3_and_4_render_the_same(helm: Helm, helm_other: Helm, case: str) -> None:
    given = json.dumps(CASES[case])
    assert normal(helm.run("-f", "-", given=given).text) == normal(helm_other.run("-f", "-", given=given).text)


def test_helm_3_and_4_refuse_with_the_same_words(helm: Helm, helm_other: Helm) -> None:
    values = {"models": {"tiny": {"replicas": 0, "cache": {"chunkSize": 100}}}}

    def faults(message: str) -> str:
        return message[message.index("2 faults in the values") :]

    assert faults(helm.refusal(values)).split() == faults(helm_other.refusal(values)).split()
