"""What an endpoint gets by default on each device."""

from __future__ import annotations

import pytest

from chart.helm import Helm, Json, flag, model


@pytest.mark.parametrize(
    ("engine", "wanted"),
    [
        ({}, "4"),
        ({"maxNumSeqs": None}, "4"),
        ({"device": "cuda"}, "256"),
        ({"device": "cuda", "maxNumSeqs": None}, "256"),
        ({"device": "cuda", "maxNumSeqs": 64}, "64"),
        ({"maxNumSeqs": 64}, "64"),
    ],
    ids=["cpu", "cpu, null", "cuda", "cuda, null", "cuda, given", "cpu, given"],
)
def test_requests_at_a_time(helm: Helm, engine: Json, wanted: str) -> None:
    assert flag(helm.template(model(engine=engine)).container("vllm")["args"], "--max-num-seqs") == wanted


def test_a_number_in_the_defaults_holds_for_both(helm: Helm) -> None:
    for device in ("cpu", "cuda"):
        manifests = helm.template({"defaults": {"engine": {"maxNumSeqs": 7, "device": device}}})
        assert flag(manifests.container("vllm")["args"], "--max-num-seqs") == "7"
