"""The Job before an uninstall that ends a pool in order: when there is one, what it is told, and what it may do."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, overlay, without_preflight
from tiered_kv_cache.pool.arguments import arguments

NAME = "demo-drain"
POOL: Json = {
    "l2": {"volume": {"type": "curvine", "claimName": ""}},
    "curvine": {"workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}}},
}
OTHERS: Json = {"curvine": {"linesOfBusiness": ["cards"]}}


def pool(*layers: Json) -> Json:
    return overlay(POOL, *layers)


def teardown(**change: Any) -> Json:
    return {"curvine": {"teardown": change}}


def told(manifests: Manifests) -> argparse.Namespace:
    """The arguments, as the program itself reads them."""
    (container,) = manifests.get("Job", NAME)["spec"]["template"]["spec"]["containers"]
    parser = argparse.ArgumentParser()
    arguments(parser.add_subparsers())
    return parser.parse_args(container["args"])


def test_it_ends_what_the_release_made(helm: Helm) -> None:
    other: Json = {"models": {"plain": {"source": {"claim": {"name": "models"}}, "cache": {"l2": {"enabled": False}}}}}
    manifests = helm.template(pool(other))
    found = told(manifests)
    made = {
        kind: {each["metadata"]["name"] for each in manifests.of(kind)}
        for kind in ("Deployment", "DaemonSet", "StatefulSet")
    }
    assert found.user == ["demo-plain-engine", "demo-tiny-engine", "demo-keeper"]
    assert set(found.user) <= made["Deployment"]
    assert {found.client, found.workers} == made["DaemonSet"]
    assert {found.masters} == made["StatefulSet"]
    assert (found.namespace, found.release, found.force, found.others) == ("tiered-kv-cache", "demo", False, None)


def test_before_the_uninstall_and_within_its_time(helm: Helm) -> None:
    manifests = helm.template(pool())
    job = manifests.get("Job", NAME)
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
    assert job["metadata"]["annotations"]["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
    assert told(manifests).deadline < job["spec"]["activeDeadlineSeconds"] < 300
    manifests = helm.template(pool(teardown(deadlineSeconds=1000000, force=True)))
    assert manifests.get("Job", NAME)["spec"]["activeDeadlineSeconds"] == 1000000
    assert (told(manifests).deadline, told(manifests).force) == (999985, True)


def test_it_may_delete_its_own_parts_only(helm: Helm) -> None:
    rules = helm.template(pool()).get("Role", NAME)["rules"]
    for rule in rules:
        if rule["resources"] == ["pods"]:
            assert rule["verbs"] == ["list"]
        else:
            assert (rule["verbs"], rule["apiGroups"]) == (["delete"], ["apps"])
            assert rule["resourceNames"]
    names = [name for rule in rules for name in rule.get("resourceNames", [])]
    assert sorted(names) == [
        "demo-curvine-client", "demo-curvine-master", "demo-curvine-worker", "demo-keeper", "demo-tiny-engine",
    ]  # fmt: skip


def test_only_a_pool_with_other_users_looks_at_volumes(helm: Helm) -> None:
    alone = helm.template(pool())
    assert not without_preflight([*alone.of("ClusterRole"), *alone.of("ClusterRoleBinding")])
    manifests = helm.template(pool(OTHERS))
    (role,) = without_preflight(manifests.of("ClusterRole"))
    assert role["rules"] == [{"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["list"]}]
    (binding,) = without_preflight(manifests.of("ClusterRoleBinding"))
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == "tiered-kv-cache.demo-drain"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": "tiered-kv-cache"}]
    assert told(manifests).others == "/var/lib/tiered-kv-cache/tiered-kv-cache.demo"


def test_a_platform_release_without_models_has_it_too(helm: Helm) -> None:
    found = told(helm.template(pool(OTHERS, {"models": {"tiny": {"enabled": False}}})))
    assert (found.user, found.masters) == ([], "demo-curvine-master")


WITHOUT: dict[str, Json] = {
    "another volume": {},
    "another release's pool": pool({"curvine": {"pool": {"release": "platform", "namespace": "kv"}}}),
    "off": pool(teardown(enabled=False)),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_there_is_none(helm: Helm, case: str) -> None:
    assert not [each for each in helm.template(WITHOUT[case]).objects if "drain" in each["metadata"]["name"]]


@pytest.mark.parametrize("key", ["enabled", "force", "deadlineSeconds"])
def test_null_where_a_value_is_needed(helm: Helm, key: str) -> None:
    helm.assert_refused(pool(teardown(**{key: None})), [f"curvine.teardown.{key}: not given"])
