"""The Job before install and upgrade: when there is one, what it is told, what it may read, and what comes before it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.cases import CASES, HYPERPOD
from chart.helm import Helm, Json, Manifests, environment, model
from tiered_kv_cache.preflight.amounts import needs
from tiered_kv_cache.preflight.config import Settings, parse

NAME = "demo-preflight"
POOL: Json = {
    "l2": {"volume": {"type": "curvine", "claimName": "", "size": "50Gi"}},
    "curvine": {"workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}}},
}


def preflight(**change: Any) -> Json:
    return {"hooks": {"preflight": change}}


def pod(manifests: Manifests) -> Json:
    found: Json = manifests.get("Job", NAME)["spec"]["template"]["spec"]
    return found


def told(manifests: Manifests) -> Settings:
    """What the program itself reads."""
    (container,) = pod(manifests)["containers"]
    return parse(environment(container)["TKC_PREFLIGHT"], "the chart")


def rules(manifests: Manifests, kind: str = "ClusterRole") -> list[tuple[str, str, str]]:
    """Group, resource and verb, each."""
    (found,) = [each for each in manifests.of(kind) if each["metadata"]["name"].endswith(NAME)]
    return [
        (group, resource, verb)
        for rule in found["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


@pytest.mark.parametrize("case", CASES)
def test_what_every_case_is_told_can_be_read(helm: Helm, case: str) -> None:
    manifests = helm.run("-f", "-", given=json.dumps(CASES[case]))
    jobs = [each for each in manifests.of("Job") if each["metadata"]["name"].endswith("-preflight")]
    for job in jobs:
        (container,) = job["spec"]["template"]["spec"]["containers"]
        settings = parse(environment(container)["TKC_PREFLIGHT"], case)
        assert settings.workloads
        assert all(needs(workload)[0] for workload in settings.workloads)


def test_account_rules_and_policy_are_hooks_of_the_same_phases_and_earlier(helm: Helm) -> None:
    """OC-28."""
    manifests = helm.template()
    job = manifests.get("Job", NAME)["metadata"]["annotations"]
    assert job["helm.sh/hook"] == "pre-install,pre-upgrade"
    kinds = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "NetworkPolicy"}
    others = [
        each
        for each in manifests.objects
        if each["metadata"]["labels"]["app.kubernetes.io/component"] == "preflight" and each["kind"] != "Job"
    ]
    assert {each["kind"] for each in others} == kinds
    for each in others:
        notes = each["metadata"]["annotations"]
        assert notes["helm.sh/hook"] == job["helm.sh/hook"]
        assert int(notes["helm.sh/hook-weight"]) < int(job["helm.sh/hook-weight"])
        # Helm deletes no hook with a release: these would stay for ever.
        assert "hook-succeeded" in notes["helm.sh/hook-delete-policy"]


def test_what_the_release_is_made_of(helm: Helm) -> None:
    found = told(helm.template({"imagePullSecrets": [{"name": "regcred"}]}, model(replicas=3, rollout={"maxSurge": 1})))
    assert (found.platform, found.namespace, found.instance) == ("kubernetes", "tiered-kv-cache", "demo")
    assert found.pullSecrets == ("regcred",)
    assert [(claim.key, claim.name, claim.mode, claim.made) for claim in found.claims] == [
        ("l2.volume.claimName", "kv", "ReadWriteMany", False),
        ("models.tiny.source.claim.name", "models", "", False),
    ]
    assert [(each.name, each.replicas, each.surge, each.once) for each in found.workloads] == [
        ("demo-tiny-engine", 3, 1, False),
        ("demo-tiny-router", 1, 1, False),
        ("demo-keeper", 1, 0, False),
        ("demo-storage", 2, 0, True),
    ]
    assert (found.operator, found.patch, found.security, found.parts) == (None, None, (), ())


def test_it_is_told_what_kubernetes_changes_in_no_claim(helm: Helm) -> None:
    volume = {"type": "hostPath", "claimName": "", "hostPath": {"path": "/mnt/kv"}, "size": "8Gi"}
    found = told(helm.template({"l2": {"volume": volume, "keeper": {"quota": "4Gi"}}}))
    (claim,) = [each for each in found.claims if each.made]
    assert (claim.key, claim.name, claim.size, claim.madeClass) == ("l2.volume", "demo-l2", 8 << 30, "")
    assert "kubectl delete pvc demo-l2" in claim.recipe
    assert "kubectl delete pv tiered-kv-cache.demo-l2" in claim.recipe


def test_it_is_told_where_routers_run(helm: Helm) -> None:
    found = told(helm.template(model(routing={"nodeSelector": {"pool": "cpu"}})))
    (router,) = [each for each in found.workloads if each.name.endswith("-router")]
    assert router.nodeSelector == {"pool": "cpu"}


def test_what_a_pod_asks_for_is_what_its_deployment_says(helm: Helm) -> None:
    manifests = helm.run("-f", "-", given=json.dumps(CASES["gpu"]))
    (engine,) = [each for each in told(manifests).workloads if each.name.endswith("-engine")]
    said = {each["name"]: each["resources"] for each in manifests.pod()["spec"]["containers"]}
    assert {each["name"]: {side: each.get(side) for side in ("requests", "limits")} for each in engine.containers} == {
        name: {side: each.get(side) for side in ("requests", "limits")} for name, each in said.items()
    }
    assert needs(engine)[0]["nvidia.com/gpu"] == 4


def test_on_hyperpod(helm: Helm) -> None:
    manifests = helm.template(HYPERPOD)
    found = told(manifests)
    assert found.operator
    assert (found.platform, found.operator.namespace) == ("hyperpod", "hyperpod-inference-system")
    assert [(part.namespace, part.name, part.required) for part in found.parts] == [
        ("aws-hyperpod", "ai-toolkit", False)
    ]
    assert found.workloads[0].name == "demo-tiny"
    assert "demo-tiny-router" not in [each.name for each in found.workloads]
    assert found.patch
    assert [(each.namespace, each.sure) for each in found.security] == [("tiered-kv-cache", False)]
    reads = rules(manifests)
    assert ("apps", "deployments", "list") in reads
    assert ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "list") in reads


def test_it_reads_and_nothing_else(helm: Helm) -> None:
    pulling: Json = {"imagePullSecrets": [{"name": "regcred"}]}
    for values in (pulling, HYPERPOD, {**POOL, **pulling}):
        manifests = helm.template(values)
        for kind in ("ClusterRole", "Role"):
            assert {verb for _, _, verb in rules(manifests, kind)} <= {"get", "list"}
            assert not [each for each in rules(manifests, kind) if "*" in each]
    plain = {resource for _, resource, _ in rules(helm.template())}
    assert plain == {"nodes", "pods", "storageclasses", "csidrivers"}
    role = helm.template({"imagePullSecrets": [{"name": "regcred"}]}).get("Role", NAME)
    (secrets,) = [rule for rule in role["rules"] if "secrets" in rule["resources"]]
    assert (secrets["resourceNames"], secrets["verbs"]) == (["regcred"], ["get"])


def test_without_a_cluster_role(helm: Helm) -> None:
    manifests = helm.template(preflight(clusterRole=False))
    assert not [
        each
        for each in manifests.objects
        if each["kind"].startswith("ClusterRole") and NAME in each["metadata"]["name"]
    ]
    assert manifests.get("Role", NAME)


def test_it_runs_wherever_it_is_tolerated_and_not_only_among_engines(helm: Helm) -> None:
    """OC-20: that there is no node for the engines is what it has to say."""
    key = {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    spec = pod(helm.template({"defaults": {"tolerations": [key], "nodeSelector": {"pool": "gpu"}}}))
    assert spec["tolerations"] == [key]
    assert not {"nodeSelector", "affinity"} & spec.keys()
    spec = pod(
        helm.template(POOL, {"curvine": {"masters": {"tolerations": [key]}}, "models": {"tiny": {"enabled": False}}})
    )
    assert spec["tolerations"] == [key]


def test_it_pulls_as_all_others_do_and_ends_before_its_job(helm: Helm) -> None:
    """OC-23."""
    manifests = helm.template(
        {"imagePullSecrets": [{"name": "regcred"}], "hooks": {"image": {"repository": "mirror.example.com/hooks"}}}
    )
    spec = pod(manifests)
    assert spec["imagePullSecrets"] == [{"name": "regcred"}]
    assert spec["containers"][0]["image"].startswith("mirror.example.com/hooks:")
    deadline = manifests.get("Job", NAME)["spec"]["activeDeadlineSeconds"]
    assert f"--deadline={deadline - 15}" in spec["containers"][0]["args"]


def test_a_pool_of_its_own_and_of_another_release(helm: Helm) -> None:
    own = told(helm.template(POOL))
    assert [(each.namespace, each.level, each.sure) for each in own.security] == [
        ("tiered-kv-cache", "privileged", True)
    ]
    (claim,) = [each for each in own.claims if each.made]
    assert (claim.name, claim.size) == ("demo-l2", 50 << 30)
    joined = told(helm.template({"l2": POOL["l2"], "curvine": {"pool": {"release": "p", "namespace": "kv"}}}))
    assert [(each.kind, each.namespace, each.name) for each in joined.parts] == [
        ("StatefulSet", "kv", "p-curvine-master"),
        ("DaemonSet", "kv", "p-curvine-worker"),
        ("DaemonSet", "kv", "p-curvine-client"),
    ]


@pytest.mark.parametrize("values", [preflight(enabled=False), model(enabled=False)])
def test_there_is_none(helm: Helm, values: Json) -> None:
    assert not [each for each in helm.template(values).objects if "preflight" in each["metadata"]["name"]]


@pytest.mark.parametrize("key", ["enabled", "deadlineSeconds", "clusterRole"])
def test_null_where_a_value_is_needed(helm: Helm, key: str) -> None:
    helm.assert_refused(preflight(**{key: None}), [f"hooks.preflight.{key}: not given"])


def test_what_is_tolerated(helm: Helm) -> None:
    assert told(helm.template(preflight(tolerate=["nodes", "operator CRD"]))).tolerate == ("nodes", "operator CRD")
    assert told(helm.template(preflight(tolerate=None))).tolerate == ()
    assert "tolerate" in helm.refusal(preflight(tolerate=["everything"]))
