"""Same values, same bytes: in two runs, in another order of keys, and from Helm 3 and Helm 4."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.apiserver import serve
from chart.cases import CASES
from chart.helm import Helm
from chart.test_golden import normal
from chart.test_live import ACCOUNT, KV, MODELS, live_options

HOOK: str = "\nkind: MutatingWebhookConfiguration\n"


def _documents(text: str) -> list[str]:
    return normal(text).split("---\n# Source: ")


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
    one, other = (_documents(each.run("-f", "-", given=given).text) for each in (helm, helm_other))
    # Helm 3 does not know this kind and sorts it among custom resources, Helm 4 puts it before them.
    for apart in (False, True):
        assert [each for each in one if (HOOK in each) == apart] == [each for each in other if (HOOK in each) == apart]


def test_helm_3_and_4_refuse_with_the_same_words(helm: Helm, helm_other: Helm) -> None:
    values = {"models": {"tiny": {"replicas": 0, "cache": {"chunkSize": 100}}}}

    def faults(message: str) -> str:
        return message[message.index("2 faults in the values") :]

    assert faults(helm.refusal(values)).split() == faults(helm_other.refusal(values)).split()


def test_an_install_renders_what_helm_template_renders(helm: Helm, helm_other: Helm) -> None:
    """Whatever a cluster answers before there is a release: look-ups refuse, and change nothing (tests/chart/test_lookups.py)."""
    hub = {"models": {"tiny": {"source": {"claim": None, "huggingFace": {"id": "a/b", "revision": "0" * 40}}}}}
    layers = [{}, {"modelStore": {"type": "hostPath", "hostPath": {"path": "/srv"}}, **hub}]
    with serve({**ACCOUNT, **KV, **MODELS}) as url:
        for each in (helm, helm_other):
            for layer in layers:
                plain = each.template(layer, extra=("--kube-version", "1.36.0"))
                assert each.template(layer, extra=live_options(url)).text == plain.text
