"""Amounts that no node could give are refused in the words of whoever wrote them."""

from __future__ import annotations

import pytest

from chart.helm import Helm, Json, container, model

GPU = "nvidia.com/gpu"


def _lmcache(**sides: Json) -> Json:
    return model(resources={"lmcache": sides})


FAULTS: dict[str, tuple[Json, list[str]]] = {
    "device without a limit": (
        _lmcache(requests={GPU: 1}),
        [f"models.tiny.resources.lmcache.requests.{GPU}: 1", "lends it whole", "is not given", "set the limit"],
    ),
    "device with another limit": (_lmcache(requests={GPU: 1}, limits={GPU: 2}), [f"requests.{GPU}: 1", "is 2"]),
    "half a device": (_lmcache(limits={GPU: 0.5}), [f"limits.{GPU}: 0.5", "devices are counted", "whole number"]),
    "devices with a unit": (_lmcache(limits={GPU: "1Gi"}), [f'limits.{GPU}: "1Gi"', "devices are counted"]),
    "huge pages without a limit": (_lmcache(requests={"hugepages-2Mi": "4Mi"}), ["lends it whole", "is not given"]),
    "thousandths of a byte": (_lmcache(limits={"ephemeral-storage": "100m"}), ["thousandths of a byte", "write Mi"]),
    "more than there is": (
        _lmcache(requests={"ephemeral-storage": 7.1e16}),
        ["requests.ephemeral-storage: 71000000000000000", "more than any machine has", "check the unit"],
    ),
    "more cores than 64 bits count": (
        _lmcache(requests={"cpu": 5.7e16}),
        ["requests.cpu: 57000000000000000", "more than any machine has"],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    values, wanted = FAULTS[case]
    message = helm.refusal(values)
    for text in [*wanted, "   why: ", "   fix: "]:
        assert text in message, message


def test_devices_and_huge_pages_are_handed_on(helm: Helm) -> None:
    both: Json = {"hugepages-2Mi": "4Mi", "example.com/dpu": 2}
    made = helm.template(_lmcache(requests=both, limits=both)).pod()
    for side in ("requests", "limits"):
        amounts = container(made, "lmcache")["resources"][side]
        assert amounts["hugepages-2Mi"] == "4Mi"
        assert amounts["example.com/dpu"] == "2"
