"""Peers of the metrics ports and pull secrets are checked before the API server would refuse half of a release."""

from __future__ import annotations

from typing import Any

import pytest

from chart.helm import Helm, Json, model


def _peers(*peers: Any) -> Json:
    return {"networkPolicy": {"metricsFrom": list(peers)}}


def _expression(**changes: Any) -> Json:
    return _peers({"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", **changes}]}})


FAULTS: dict[str, tuple[Json, list[str]]] = {
    "empty peer": (_peers({}), ["networkPolicy.metricsFrom[0]: {}", "names nobody", "namespaceSelector: {}"]),
    "peer of null": (_peers({"ipBlock": None}), ["networkPolicy.metricsFrom[0]", "names nobody"]),
    "range and Pods": (
        _peers({"podSelector": {}}, {"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}),
        ["networkPolicy.metricsFrom[1]", "not both", "two entries"],
    ),
    "no range": (_peers({"ipBlock": {"cidr": "10.0.0.0"}}), ['ipBlock.cidr: "10.0.0.0"', "10.0.0.0/8"]),
    "host bits": (
        _peers({"ipBlock": {"cidr": "10.0.0.1/8"}}),
        ['ipBlock.cidr: "10.0.0.1/8"', "bits behind the prefix"],
    ),
    "octet": (_peers({"ipBlock": {"cidr": "10.0.0.256/32"}}), ['ipBlock.cidr: "10.0.0.256/32"']),
    "two gaps": (_peers({"ipBlock": {"cidr": "fd00::1::/64"}}), ['ipBlock.cidr: "fd00::1::/64"']),
    "label name": (
        _peers({"podSelector": {"matchLabels": {"a b": "c"}}}),
        ['podSelector.matchLabels: "a b"', "not the name of a label"],
    ),
    "label value": (
        _peers({"namespaceSelector": {"matchLabels": {"a": "b c"}}}),
        ['namespaceSelector.matchLabels: "b c"', "no label a can have this value"],
    ),
    "label of null": (
        _peers({"podSelector": {"matchLabels": {"a": None}}}),
        ["podSelector.matchLabels: null", "label a has no value"],
    ),
    "comparison without values": (
        _expression(operator="NotIn"),
        ["podSelector.matchExpressions[0].values: []", "there are none", "Exists or DoesNotExist"],
    ),
    "values without comparison": (
        _expression(values=["x"]),
        ['podSelector.matchExpressions[0].values: ["x"]', "takes no values", "In or NotIn"],
    ),
    "condition's label": (_expression(key=""), ['matchExpressions[0]: ""', "not the name of a label"]),
    "pull secret's name": (
        {"imagePullSecrets": [{"name": "Reg Cred"}]},
        ['imagePullSecrets[0].name: "Reg Cred"', "kubectl get secret"],
    ),
    "pull secret of null": ({"imagePullSecrets": [{"name": None}]}, ['imagePullSecrets[0].name: ""']),
    "range of null": (_peers({"ipBlock": {"cidr": None}}), ['ipBlock.cidr: ""']),
    "comparison of null": (_expression(operator=None), ['matchExpressions[0].operator: ""', "use In, NotIn"]),
    "pull secret twice": (
        {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
        ['imagePullSecrets[1].name: "a"', "twice"],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    values, wanted = FAULTS[case]
    message = helm.refusal(values)
    assert "1 fault in the values" in message
    for text in [*wanted, "   why: ", "   fix: "]:
        assert text in message, message


@pytest.mark.parametrize(
    "cidr",
    ["0.0.0.0/0", "10.1.2.3/32", "192.168.128.0/17", "::/0", "fd00::/8", "2001:db8::1/128", "1:2:3:4:5:6:7:8/128"],
)
def test_ranges_are_accepted(helm: Helm, cidr: str) -> None:
    policy = helm.template(_peers({"ipBlock": {"cidr": cidr}})).get("NetworkPolicy", "demo-tiny-engine")
    assert {"ipBlock": {"cidr": cidr}} in policy["spec"]["ingress"][0]["from"]


EXCEPT: dict[str, tuple[str, list[str]]] = {
    "ipv4": ("10.0.0.0/8", ["10.1.0.0/16", "10.255.255.255/32"]),
    "ipv4, odd prefix": ("172.16.0.0/12", ["172.31.0.0/16"]),
    "everything": ("0.0.0.0/0", ["169.254.169.254/32"]),
    "ipv6": ("fd00::/8", ["fd12:3456::/32", "fdff::1/128"]),
    "ipv6 without gap": ("2001:db8::/32", ["2001:db8:1:2:3:4:5:6/128"]),
}


@pytest.mark.parametrize("case", EXCEPT)
def test_ranges_that_are_left_out(helm: Helm, case: str) -> None:
    cidr, out = EXCEPT[case]
    block = {"ipBlock": {"cidr": cidr, "except": out}}
    manifests = helm.template(_peers(block))
    for name in ("demo-tiny-engine", "demo-tiny-router"):
        rules = manifests.get("NetworkPolicy", name)["spec"]["ingress"]
        assert [peer for rule in rules for peer in rule.get("from", []) if "ipBlock" in peer].count(block) >= 1


NOT_INSIDE: dict[str, tuple[str, str]] = {
    "another network": ("10.0.0.0/8", "11.0.0.0/16"),
    "one bit beside it": ("172.16.0.0/12", "172.32.0.0/16"),
    "as large": ("10.0.0.0/8", "10.0.0.0/8"),
    "larger": ("10.0.0.0/8", "0.0.0.0/0"),
    "host bits": ("10.0.0.0/8", "10.0.0.1/16"),
    "no range": ("10.0.0.0/8", "10.0.0.1"),
    "empty": ("10.0.0.0/8", ""),
    "another family": ("0.0.0.0/0", "fd00::/8"),
    "another network of ipv6": ("fd00::/8", "fe00::/16"),
    "ipv6, one bit beside it": ("2001:db8::/31", "2001:dba::/32"),
}


@pytest.mark.parametrize("case", NOT_INSIDE)
def test_ranges_that_are_not_inside(helm: Helm, case: str) -> None:
    cidr, out = NOT_INSIDE[case]
    inside = cidr.split("/", maxsplit=1)[0] + ("/128" if ":" in cidr else "/32")
    helm.assert_refused(
        _peers({"ipBlock": {"cidr": cidr, "except": [inside, out]}}),
        [
            f'networkPolicy.metricsFrom[0].ipBlock.except[1]: "{out}"',
            f"not a smaller range inside ipBlock.cidr: {cidr}",
        ],
    )


def _listens(helm: Helm, *layers: Json) -> set[str]:
    """Addresses after the flags that name one, of every server of a model."""
    manifests = helm.template(*layers)
    containers = [manifests.container("vllm"), manifests.container("lmcache")]
    (router,) = [d for d in manifests.of("Deployment") if d["metadata"]["name"].endswith("-router")]
    containers += router["spec"]["template"]["spec"]["containers"]
    found = set()
    for container in containers:
        args = container["args"]
        found |= {
            args[at + 1] for at, flag in enumerate(args) if flag in ("--host", "--http-host", "--prometheus-host")
        }
    return found


def test_servers_listen_on_the_familys_addresses(helm: Helm) -> None:
    """OC-04. LMCache's message queue is for its own Pod."""
    assert _listens(helm) == {"0.0.0.0", "127.0.0.1"}
    assert _listens(helm, {"ipFamily": "IPv6"}) == {"::", "127.0.0.1"}


def test_kvaware_knows_no_ipv6(helm: Helm) -> None:
    values = model(routing={"strategy": "kvaware"}, cache={"chunkSize": 128}, engine={"blockSize": 128})
    helm.assert_refused({"ipFamily": "IPv6", **values}, ['models.tiny.routing.strategy: "kvaware"', "ipFamily is IPv6"])
