"""The keeper of the L2 volume: what it is told, what it may do, where it runs, and which values are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, model
from tiered_kv_cache.keeper import config

NAME = "demo-keeper"
GIB = 1 << 30


def keeper(**change: Any) -> Json:
    return {"l2": {"keeper": change}}


def told(manifests: Manifests) -> config.Settings:
    """The rendered settings, as the keeper itself reads them."""
    pod = manifests.get("Deployment", NAME)["spec"]["template"]["spec"]
    (name,) = [each["configMap"]["name"] for each in pod["volumes"] if "configMap" in each]
    return config.parse(json.loads(manifests.get("ConfigMap", name)["data"]["config.json"]), name)


def test_defaults_bound_the_line_of_business_by_the_volume(helm: Helm) -> None:
    settings = told(helm.template({"l2": {"volume": {"size": "40Gi"}}}))
    assert settings.mount == "/mnt/kv-l2"
    assert settings.tenants == {"retail": config.Tenant(config.Limit(40 * GIB), {})}
    # What other releases keep on the volume is not this keeper's.
    assert settings.volume == config.Limit()
    assert (settings.high, settings.low, settings.ttl) == (0.85, 0.70, 168 * 3600)
    assert settings.lease.name == NAME


@pytest.mark.parametrize(("quota", "of_model"), [("20Gi", "5Gi"), (20 * GIB, 5 * GIB), ("20971520Ki", "5242880Ki")])
def test_quotas_watermarks_and_ttl(helm: Helm, quota: str | int, of_model: str | int) -> None:
    layers = (
        keeper(quota=quota, highWatermark=0.9, lowWatermark=0.5, ttl="90m"),
        model(cache={"l2": {"quota": of_model}}),
    )
    settings = told(helm.template(*layers))
    assert settings.tenants["retail"] == config.Tenant(config.Limit(20 * GIB), {"tiny": config.Limit(5 * GIB)})
    assert (settings.high, settings.low, settings.ttl) == (0.9, 0.5, 5400)


def test_quotas_of_other_lines_of_business(helm: Helm) -> None:
    others = {
        "cards": {"quota": 40 * GIB, "models": {"qwen": "20Gi", "old": None}},
        "loans": {"quota": "1Gi"},
        "gone": None,
    }
    settings = told(helm.template(keeper(quota="20Gi", linesOfBusiness=others)))
    assert settings.tenants == {
        "retail": config.Tenant(config.Limit(20 * GIB), {}),
        "cards": config.Tenant(config.Limit(40 * GIB), {"qwen": config.Limit(20 * GIB)}),
        "loans": config.Tenant(config.Limit(GIB), {}),
    }


def test_faults_of_other_lines_of_business_are_told_together(helm: Helm) -> None:
    others = {
        "retail": {"quota": "1Gi"},
        "Cards": {"quota": "1Gi"},
        "loans": {"models": {"qwen": 0}},
        "bank": {"quota": "some"},
    }
    message = helm.refusal(keeper(linesOfBusiness=others))
    assert message.count("why: ") == 5
    for wanted in ("retail: ", "Cards: ", "loans.quota: ", "loans.models.qwen: 0", 'bank.quota: "some"'):
        assert f"l2.keeper.linesOfBusiness.{wanted}" in message


def test_one_pod_that_may_do_little(helm: Helm) -> None:
    manifests = helm.template()
    spec = manifests.get("Deployment", NAME)["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    (container,) = spec["template"]["spec"]["containers"]
    assert container["args"][0] == "keeper"
    assert "--dry-run" not in container["args"]
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == "l2"]
    assert mount == {"name": "l2", "mountPath": "/mnt/kv-l2"}
    rules = manifests.get("Role", NAME)["rules"]
    assert {(rule["resources"][0], verb) for rule in rules for verb in rule["verbs"]} == {
        ("leases", "create"),
        ("leases", "get"),
        ("leases", "update"),
        ("events", "create"),
    }
    assert [rule["resourceNames"] for rule in rules if "update" in rule["verbs"]] == [[NAME]]


def test_it_runs_where_the_engines_do(helm: Helm) -> None:
    wanted = {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    pod = helm.template(model(**wanted)).get("Deployment", NAME)["spec"]["template"]["spec"]
    assert {key: pod[key] for key in wanted} == wanted


def test_only_metrics_peers_reach_it(helm: Helm) -> None:
    assert helm.template().get("NetworkPolicy", NAME)["spec"]["ingress"] == []
    peer = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    policy = helm.template({"networkPolicy": {"metricsFrom": [peer]}}).get("NetworkPolicy", NAME)
    assert policy["spec"]["ingress"] == [{"from": [peer], "ports": [{"port": 9400, "protocol": "TCP"}]}]


def test_new_settings_start_a_new_pod(helm: Helm) -> None:
    texts = [json.dumps(helm.template(keeper(ttl=ttl)).get("Deployment", NAME)) for ttl in ("1h", "2h")]
    assert texts[0] != texts[1]


def test_dry_run(helm: Helm) -> None:
    (container,) = helm.template(keeper(dryRun=True)).get("Deployment", NAME)["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] == "--dry-run"


@pytest.mark.parametrize(
    "layer",
    [
        keeper(enabled=False),
        {"l2": {"enabled": False}},
        model(cache={"l2": {"enabled": False}}),
        {"models": {"tiny": None}},
    ],
    ids=["switched off", "no L2", "no model with L2", "no model"],
)
def test_nothing_of_it(helm: Helm, layer: Json) -> None:
    assert "keeper" not in helm.template(layer).text


@pytest.mark.parametrize(
    ("layers", "texts"),
    [
        ((keeper(quota="much"),), ['l2.keeper.quota: "much"', "80Gi"]),
        (
            ({"l2": {"volume": {"type": "hostPath", "claimName": "", "hostPath": {"path": "/s"}, "size": "8Gi"}}}, keeper(quota="9Gi")),
            ['l2.keeper.quota: "9Gi"', "above l2.volume.size (8Gi)"],
        ),
        ((keeper(lowWatermark=0.9),), ["l2.keeper.lowWatermark: 0.9", "not below l2.keeper.highWatermark (0.85)"]),
        ((keeper(quota="5Gi"), model(cache={"l2": {"quota": "6Gi"}})), ['models.tiny.cache.l2.quota: "6Gi"', "l2.keeper.quota (5Gi)"]),
        ((model(cache={"l2": {"quota": "-1"}}),), ['models.tiny.cache.l2.quota: "-1"']),
        ((keeper(ttl=None),), ["l2.keeper.ttl: not given"]),
        ((keeper(resources={"limits": {"memory": "1e3"}}),), ["l2.keeper.resources.limits.memory"]),
    ],
)  # fmt: skip
def test_refused(helm: Helm, layers: tuple[Json, ...], texts: list[str]) -> None:
    message = helm.refusal(*layers)
    for text in texts:
        assert text in message


@pytest.mark.parametrize("ttl", ["1w", "-5h", "week"])
def test_a_ttl_that_is_no_duration(helm: Helm, ttl: str) -> None:
    assert "ttl" in helm.refusal(keeper(ttl=ttl))
