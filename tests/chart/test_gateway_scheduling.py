"""Where gateway and routers run: on tainted clusters as well, and not all on one node."""

from __future__ import annotations

import pytest

from chart.helm import Helm, Json, model

GATEWAY: Json = {"gateway": {"enabled": True}}
TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
NODES = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    }
}
DEFAULTS: Json = {
    "defaults": {
        "tolerations": [TAINT],
        "nodeSelector": {"pool": "gpu"},
        "priorityClassName": "serving",
        "affinity": {"nodeAffinity": NODES, "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    }
}
OWN: Json = {
    "tolerations": [
        {"key": "cpu", "operator": "Equal", "value": "only", "effect": "NoExecute", "tolerationSeconds": 60}
    ],
    "nodeSelector": {"pool": "cpu", "NO": "1"},
    "priorityClassName": "front",
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
}


def _placement(helm: Helm, *layers: Json) -> Json:
    spec = helm.template(GATEWAY, *layers).pod("gateway")["spec"]
    return {key: spec[key] for key in OWN if key in spec}


def test_the_gateway_runs_where_the_defaults_say(helm: Helm) -> None:
    assert _placement(helm) == {}
    # Engines that shun each other need not shun the gateway.
    assert _placement(helm, DEFAULTS) == {**DEFAULTS["defaults"], "affinity": {"nodeAffinity": NODES}}


def test_the_gateways_own_keys_win_one_by_one(helm: Helm) -> None:
    assert _placement(helm, DEFAULTS, {"gateway": OWN}) == OWN
    assert _placement(helm, {"gateway": OWN}) == OWN
    one = _placement(helm, DEFAULTS, {"gateway": {"nodeSelector": {"pool": "cpu"}}})
    assert one == {**DEFAULTS["defaults"], "affinity": {"nodeAffinity": NODES}, "nodeSelector": {"pool": "cpu"}}
    none = {"tolerations": [], "nodeSelector": {}, "priorityClassName": "", "affinity": {}}
    assert _placement(helm, DEFAULTS, {"gateway": none}) == {}


REFUSED: dict[str, tuple[Json, str]] = {
    "toleration": ({"tolerations": [{"operator": "Equal"}]}, "gateway.tolerations: "),
    "label": ({"nodeSelector": {"pool": "a b"}}, 'gateway.nodeSelector: {"pool":"a b"}'),
    "key of a label": ({"nodeSelector": {"a..b/c": "x"}}, 'gateway.nodeSelector: "a..b/c"'),
    "priority class": ({"priorityClassName": "A b"}, 'gateway.priorityClassName: "A b"'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_cluster_takes_is_refused(helm: Helm, case: str) -> None:
    values, wanted = REFUSED[case]
    helm.assert_refused({"gateway": {"enabled": True, **values}, **model()}, [wanted])


def test_a_fault_of_the_defaults_is_named_there(helm: Helm) -> None:
    values = {**GATEWAY, "defaults": {"priorityClassName": "A b"}, **model(priorityClassName="fine")}
    helm.assert_refused(values, ['defaults.priorityClassName: "A b"'])


def test_misspelt_field_of_the_affinity(helm: Helm) -> None:
    assert "podAffinty" in helm.refusal({"gateway": {"enabled": True, "affinity": {"podAffinty": {}}}})


@pytest.mark.parametrize("component", ["gateway", "router"])
def test_several_are_spread(helm: Helm, component: str) -> None:
    several: Json = {"gateway": {"enabled": True, "replicas": 2}, **model(routing={"replicas": 2})}
    manifests = helm.template(several)
    pod = manifests.pod(component)
    (found,) = [d for d in manifests.of("Deployment") if d["spec"]["template"] == pod]
    assert pod["spec"]["topologySpreadConstraints"] == [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": found["spec"]["selector"]["matchLabels"]},
        }
    ]
    assert "topologySpreadConstraints" not in helm.template(GATEWAY).pod(component)["spec"]
