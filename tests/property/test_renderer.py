"""The renderer of the property tests says what helm and an API server say, and its checks can fail."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chart.cases import CASES
from chart.helm import Helm, Json, Refused, model, overlay
from property.checks import third_outcome
from property.renderer import Answer, Question, Renderer


@pytest.mark.parametrize("case", CASES)
def test_prints_what_helm_template_prints(renderer: Renderer, helm: Helm, case: str) -> None:
    """Twice, so that nothing of one render is left for the next."""
    printed = helm.run("-f", "-", given=json.dumps(CASES[case])).text
    for _ in range(2):
        assert renderer.ask(Question(CASES[case])).manifests == printed


REFUSED: dict[str, Json] = {
    "schema": {"unknownKey": 1},
    "rule": overlay(model(replicas=0)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_with_helms_words(renderer: Renderer, helm: Helm, case: str) -> None:
    with pytest.raises(Refused) as refused:
        helm.run("-f", "-", given=json.dumps(REFUSED[case]))
    assert renderer.ask(Question(REFUSED[case])).error.strip() in str(refused.value)


def test_cluster_versions_reach_the_chart(renderer: Renderer) -> None:
    answer = renderer.ask(Question(overlay(), kube_version="1.19.0"))
    assert "kubeVersion" in answer.error
    assert "1.19.0" in answer.error


def test_good_objects_have_no_fault(renderer: Renderer) -> None:
    question = Question(overlay())
    assert third_outcome(question, renderer.ask(question)) is None


def _answer(renderer: Renderer, **changes: Any) -> str | None:
    question = Question(overlay())
    return third_outcome(question, replace(renderer.ask(question), **changes))


def test_checks_can_fail(renderer: Renderer) -> None:
    good = renderer.ask(Question(overlay()))
    assert "the API server: x" in str(_answer(renderer, faults=["x"]))
    assert "two objects" in str(_answer(renderer, objects=[*good.objects, good.objects[0]]))
    assert "printed as powers" in str(_answer(renderer, manifests="replicas: 1e+06"))
    assert _answer(renderer, manifests="name: demo-gateway-7507e124") is None
    assert "printed <no value>" in str(_answer(renderer, manifests="a: <no value>"))
    pod = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"args": ['{"a": }']}]}}
    assert "not JSON" in str(_answer(renderer, objects=[pod]))
    assert "not a DNS name" in str(_answer(renderer, objects=[{"kind": "Pod", "metadata": {"name": "A"}}]))
    question = Question(overlay())
    for error in ("nil pointer evaluating interface {}.size", "got null, want object", "1. a: b"):
        assert "not one of our messages" in str(third_outcome(question, Answer(error=error)))
    bare = "in the values of release demo; nothing was changed:\n\n1. a: 1\n   why: w\n"
    assert "without key, why and fix" in str(third_outcome(question, Answer(error=bare)))
