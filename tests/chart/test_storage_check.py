"""The Job after install and upgrade that judges the L2 volume: when there is one, what it is told, and what it may do."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, model
from tiered_kv_cache.storage.arguments import arguments

NAME = "demo-storage"
POOL: Json = {
    "l2": {"volume": {"type": "curvine", "claimName": "", "size": "50Gi"}},
    "curvine": {"workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}}},
}


def check(**change: Any) -> Json:
    return {"hooks": {"storageCheck": change}}


def job(manifests: Manifests) -> Json:
    return manifests.get("Job", NAME)


def told(manifests: Manifests) -> argparse.Namespace:
    """The arguments, as the program itself reads them; what the Pod fills in is 0."""
    (container,) = job(manifests)["spec"]["template"]["spec"]["containers"]
    parser = argparse.ArgumentParser()
    arguments(parser.add_subparsers())
    return parser.parse_args([word.replace("$(CHECK_INDEX)", "0") for word in container["args"]])


def test_what_it_is_told(helm: Helm) -> None:
    found = told(helm.template({"l2": {"volume": {"size": "40Gi"}}}))
    assert (found.directory, found.line_of_business, found.release) == ("/mnt/kv-l2", "retail", "tiered-kv-cache.demo")
    assert (found.namespace, found.job, found.volume_type) == ("tiered-kv-cache", NAME, "existingClaim")
    assert (found.quota, found.size, found.block, found.pool) == (40 << 30, 0, 0, False)
    assert (found.load_base_ms, found.load_ms_per_mib, found.lookup_ms) == (500, 20, 100)


def test_it_ends_before_its_job_and_its_job_before_helm(helm: Helm) -> None:
    manifests = helm.template()
    deadline = job(manifests)["spec"]["activeDeadlineSeconds"]
    assert told(manifests).deadline < deadline < 300
    manifests = helm.template(check(deadlineSeconds=1000000, fileSize="16Mi"))
    assert job(manifests)["spec"]["activeDeadlineSeconds"] == 1000000
    assert (told(manifests).deadline, told(manifests).size) == (999985, 16 << 20)


def test_a_pool_is_waited_for_and_is_full_below_a_block(helm: Helm) -> None:
    manifests = helm.template(POOL)
    found = told(manifests)
    assert (found.directory, found.pool, found.block, found.quota) == ("/mnt/kv-l2/fs", True, 64 << 20, 50 << 30)
    (container,) = job(manifests)["spec"]["template"]["spec"]["containers"]
    assert {"name": "l2", "mountPath": "/mnt/kv-l2", "mountPropagation": "HostToContainer"} in container["volumeMounts"]
    joined = told(helm.template(POOL, {"curvine": {"pool": {"release": "platform", "namespace": "kv"}}}))
    assert (joined.directory, joined.pool) == ("/mnt/kv-l2/fs", True)


def test_the_strictest_model_decides_what_is_slow(helm: Helm) -> None:
    def l2(**settings: int) -> Json:
        return {"source": {"claim": {"name": "models"}}, "cache": {"l2": {"settings": settings}}}

    models = {"a": l2(loadBaseMs=300, lookupDeadlineMs=400), "b": l2(loadMsPerMiB=5), "tiny": l2(lookupDeadlineMs=200)}
    models["plain"] = {"source": {"claim": {"name": "models"}}, "cache": {"l2": {"adapter": "fs"}}}
    found = told(helm.template({"models": models}))
    assert (found.load_base_ms, found.load_ms_per_mib, found.lookup_ms) == (300, 5, 100)


WITHOUT: dict[str, Json] = {
    "off": check(enabled=False),
    "no L2": {"l2": {"enabled": False}},
    "no model with L2": model(cache={"l2": {"enabled": False}}),
    "no model": model(enabled=False),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_there_is_none(helm: Helm, case: str) -> None:
    assert not [each for each in helm.template(WITHOUT[case]).objects if each["metadata"]["name"] == NAME]


def test_two_pods_on_two_nodes_after_install_and_upgrade(helm: Helm) -> None:
    found = job(helm.template())
    assert found["metadata"]["annotations"] == {
        "helm.sh/hook": "post-install,post-upgrade",
        "helm.sh/hook-delete-policy": "before-hook-creation",
    }
    spec = found["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (
        "Indexed",
        2,
        2,
        0,
    )
    pod = spec["template"]
    (spread,) = pod["spec"]["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    assert spread["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("version", "there"), [("1.28.0", False), ("1.30.4", False), ("1.31.0", True), ("1.36.1", True)]
)
def test_one_pod_is_enough_where_the_cluster_knows_how(helm: Helm, version: str, there: bool) -> None:
    spec = job(helm.template(extra=("--kube-version", version)))["spec"]
    assert spec.get("successPolicy") == ({"rules": [{"succeededIndexes": "0"}]} if there else None)


def test_it_runs_where_the_engines_do(helm: Helm) -> None:
    key = {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    spec = job(helm.template({"defaults": {"tolerations": [key], "nodeSelector": {"pool": "gpu"}}}))["spec"][
        "template"
    ]["spec"]
    assert (spec["tolerations"], spec["nodeSelector"]) == ([key], {"pool": "gpu"})


def test_it_may_look_at_pods_and_own_its_job(helm: Helm) -> None:
    rules = helm.template().get("Role", NAME)["rules"]
    assert rules == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": [NAME], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": [NAME], "verbs": ["get"]},
    ]


def test_nobody_calls_it(helm: Helm) -> None:
    manifests = helm.template()
    policy = manifests.get("NetworkPolicy", NAME)["spec"]
    assert (policy["policyTypes"], policy["ingress"]) == (["Ingress", "Egress"], [])
    # It asks the API server, wherever that is, and names.
    assert policy["egress"] == [{"ports": [{"protocol": "TCP"}, {"protocol": "UDP", "port": 53}]}]
    assert (
        policy["podSelector"]["matchLabels"].items() <= job(manifests)["spec"]["template"]["metadata"]["labels"].items()
    )


@pytest.mark.parametrize("size", ["65Mi", "0", "8Gi", 0.5, "x"])
def test_a_size_that_is_none_is_refused(helm: Helm, size: object) -> None:
    helm_message = helm.refusal(check(fileSize=size))
    assert "fileSize" in helm_message


@pytest.mark.parametrize("key", ["enabled", "deadlineSeconds"])
def test_null_where_a_value_is_needed(helm: Helm, key: str) -> None:
    helm.assert_refused(check(**{key: None}), [f"hooks.storageCheck.{key}: not given"])


def test_a_size_that_is_deleted_is_that_of_an_object(helm: Helm) -> None:
    assert told(helm.template(check(fileSize=None))).size == 0
