"""Amounts and names that Kubernetes would refuse are refused before, in the words of whoever wrote them."""

from __future__ import annotations

import json

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


_HOST: Json = {"type": "hostPath", "hostPath": {"path": "/srv"}}
_HUB: Json = {"id": "a/b", "revision": "0" * 40}
FAULTS |= {
    **{
        f"L2 of {size}": (
            {"l2": {"volume": {**_HOST, "claimName": "", "size": size}}},
            [f"l2.volume.size: {json.dumps(size)}", "not a whole number of bytes above 0"],
        )
        for size in (0, 0.5, "100m", "x")
    },
    "model store of half a byte": (
        {"modelStore": {**_HOST, "size": 0.5}, **model(source={"claim": None, "huggingFace": _HUB})},
        ["modelStore.size: 0.5", "not a whole number of bytes above 0"],
    ),
    "L2 claim's name": ({"l2": {"volume": {"claimName": "KV"}}}, ['l2.volume.claimName: "KV"', "kubectl get pvc"]),
    "source claim's name": (
        model(source={"claim": {"name": "a..b"}}),
        ['models.tiny.source.claim.name: "a..b"', "no claim can have this name"],
    ),
    "model store claim's name": (
        {
            "modelStore": {"type": "existingClaim", "claimName": "a_b"},
            **model(source={"claim": None, "huggingFace": _HUB}),
        },
        ['modelStore.claimName: "a_b"', "no claim can have this name"],
    ),
    "token's key": (
        model(source={"claim": None, "huggingFace": {**_HUB, "tokenSecret": {"name": "hub", "key": "a b"}}}),
        ['source.huggingFace.tokenSecret.key: "a b"', "no key of a Secret"],
    ),
    "API key's key": (
        {"apiKey": {"secretName": "a", "key": "k" * 254}},
        ["apiKey.key", "no key of a Secret"],
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
