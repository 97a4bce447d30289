"""The proof of the L2 patch: when there is one, what it is told, and what it may do where."""

from __future__ import annotations

from typing import Any

import pytest

from chart.cases import HYPERPOD
from chart.helm import Helm, Json, Manifests, environment, merged, model
from tiered_kv_cache.patchcheck.config import Place, parse

NAME = "demo-patch-check"
ELSEWHERE: Json = {
    "inferenceOperator": {
        "l2Patch": {"namespaces": {"cards": {"models": ["*"], "claimName": "l2", "mountPath": "/l2", "hashSeed": 0}}}
    }
}


def check(**change: Any) -> Json:
    return {"hooks": {"patchCheck": change}}


def told(manifests: Manifests) -> tuple[Place, ...]:
    """What the program itself reads."""
    (container,) = manifests.get("Job", NAME)["spec"]["template"]["spec"]["containers"]
    return parse(environment(container)["TKC_PATCH_CHECK"], "the chart")


def test_its_own_models(helm: Helm) -> None:
    (place,) = told(helm.template(HYPERPOD))
    assert (place.namespace, place.claim, place.mountPath, place.every) == (
        "tiered-kv-cache",
        "kv",
        "/mnt/kv-l2",
        False,
    )
    assert [(each.name, each.hashSeed) for each in place.models] == [("demo-tiny", "0")]
    # A quota may refuse Pods that say nothing.
    assert place.resources.keys() == {"requests", "limits"}


def test_after_the_others_and_in_helm_test(helm: Helm) -> None:
    manifests = helm.template(HYPERPOD)
    job = manifests.get("Job", NAME)
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade"
    weights = {
        each["metadata"]["name"]: int(each["metadata"]["annotations"].get("helm.sh/hook-weight", 0))
        for each in manifests.of("Job")
        if "post-install" in each["metadata"]["annotations"]["helm.sh/hook"]
    }
    assert max(weights, key=lambda name: weights[name]) == NAME
    test = manifests.get("Pod", NAME)
    assert test["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert test["spec"]["containers"] == job["spec"]["template"]["spec"]["containers"]
    (container,) = test["spec"]["containers"]
    assert f"--deadline={job['spec']['activeDeadlineSeconds'] - 15}" in container["args"]


def test_what_it_may_do(helm: Helm) -> None:
    restarting = helm.template(HYPERPOD, check(restart=True))
    for manifests in (helm.template(HYPERPOD), restarting):
        assert manifests.get("Role", NAME)["rules"] == [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "list"]},
            {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        ]
    (container,) = restarting.get("Pod", NAME)["spec"]["containers"]
    assert "--restart" in container["args"]


def test_a_role_in_each_namespace_that_is_patched(helm: Helm) -> None:
    """OC-29: no ClusterRole where a Role does, and no name that another release would have there."""
    manifests = helm.template(HYPERPOD, ELSEWHERE)
    assert [place.namespace for place in told(manifests)] == ["cards", "tiered-kv-cache"]
    role = manifests.get("Role", f"tiered-kv-cache.{NAME}")
    binding = manifests.get("RoleBinding", f"tiered-kv-cache.{NAME}")
    assert (role["metadata"]["namespace"], binding["metadata"]["namespace"]) == ("cards", "cards")
    assert role["rules"] == manifests.get("Role", NAME)["rules"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": "tiered-kv-cache"}]
    assert not [each for each in manifests.of("ClusterRole") if "patch-check" in each["metadata"]["name"]]


def test_a_platform_release_without_models(helm: Helm) -> None:
    manifests = helm.template(ELSEWHERE, model(enabled=False))
    (place,) = told(manifests)
    assert (place.namespace, place.every, place.hashSeed) == ("cards", True, "0")
    assert manifests.get("Job", "demo-preflight")


@pytest.mark.parametrize(
    "values",
    [
        {},
        merged(HYPERPOD, check(enabled=False)),
        merged(HYPERPOD, {"inferenceOperator": {"l2Patch": {"enabled": False}}}),
        merged(HYPERPOD, {"l2": {"enabled": False}}),
    ],
)
def test_there_is_none(helm: Helm, values: Json) -> None:
    assert not [each for each in helm.template(values).objects if "patch-check" in each["metadata"]["name"]]


@pytest.mark.parametrize("key", ["enabled", "restart", "deadlineSeconds"])
def test_null_where_a_value_is_needed(helm: Helm, key: str) -> None:
    helm.assert_refused(check(**{key: None}), [f"hooks.patchCheck.{key}: not given"])
