"""Each thing that a cluster can lack gives one row that names it, with its fix as a command."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emulators.objects import Json
from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.preflight.checks.operator import CRD
from tiered_kv_cache.preflight.config import parse
from tiered_kv_cache.rows import FAIL, INFO, WARN, Row

from .conftest import APPS, CRDS, GPU, IMAGE, MANAGER, OPERATOR, Site, crd, deployment, engine, node

KV = "/api/v1/namespaces/kv"
CLAIM = f"{KV}/persistentvolumeclaims/kv-l2"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
OURS = {"app.kubernetes.io/part-of": "tiered-kv-cache"}


def said(row: Row) -> str:
    """What people read."""
    assert row.finding
    return " ".join([row.seen, row.finding.what, row.finding.fix, *row.finding.commands])


def test_nothing_is_wrong(site: Site) -> None:
    rows = site.rows()
    assert [row for row in rows if row.severity in (FAIL, WARN)] == []
    assert {row.check for row in rows} == {
        "server",
        "operator CRD",
        "operator",
        "cert-manager",
        "nodes",
        "node health",
        "VPC CNI",
        "quota",
        "limit range",
        "claims",
        "CSI driver",
        "parts",
        "accounts",
        "pull secrets",
        "pod security",
        "mutators",
    }


def gone(path: str) -> Callable[[Site], object]:
    return lambda site: site.api.objects.pop(path)


def put(path: str, found: Json) -> Callable[[Site], object]:
    return lambda site: site.api.add(path, found)


def made(storage_class: str = "", size: str = "8Gi", **metadata: str) -> Json:
    """A claim of this chart that is there."""
    spec = {"storageClassName": storage_class, "resources": {"requests": {"storage": size}}}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}


def kept(found: Json) -> Callable[[Site], object]:
    """A release that makes claim demo-l2 of 8 GiB, where this one is there."""
    wanted = {"key": "l2.volume", "name": "demo-l2", "made": True, "size": 8 << 30, "recipe": "make it anew"}

    def change(site: Site) -> None:
        tell(claims=[wanted])(site)
        site.api.add(f"{KV}/persistentvolumeclaims/demo-l2", found)

    return change


def tell(**change: object) -> Callable[[Site], object]:
    return lambda site: site.release.update(change)


def claim(phase: str = "Bound", mode: str = "ReadWriteMany", storage: str = "shared", **meta: str) -> Json:
    spec = {"accessModes": [mode], "storageClassName": storage}
    return {"metadata": {"name": "kv-l2", **meta}, "spec": spec, "status": {"phase": phase}}


def webhook(namespace: str, bundle: str = "Q0E=") -> Json:
    client = {"service": {"namespace": namespace, "name": "demo-l2-webhook"}, "caBundle": bundle}
    return {"metadata": {"labels": OURS}, "webhooks": [{"name": "a", "clientConfig": client}]}


def pods_webhook(*operations: str) -> Json:
    rule = {"apiGroups": [""], "resources": ["pods"], "operations": list(operations)}
    return {"webhooks": [{"name": "a", "rules": [rule]}]}


DAEMON = f"{APPS}/aws-hyperpod/daemonsets/ai-toolkit"
ACCOUNT = f"{KV}/serviceaccounts/m-sa"
LIMIT: Json = {"type": "Container", "max": {"memory": "16Gi"}}
CASES: dict[str, tuple[Callable[[Site], object], str, str, list[str]]] = {
    "an old API server": (put("/version", {"gitVersion": "v1.27.9"}), FAIL, "server", ["v1.27.9", "1.28 or newer"]),
    "no version": (gone("/version"), FAIL, "server", ["unknown"]),
    "no operator's definition": (gone(f"{CRDS}/{CRD}"), FAIL, "operator CRD", ["absent", "aws eks create-addon"]),
    "an old definition": (put(f"{CRDS}/{CRD}", crd("v1alpha1")), FAIL, "operator CRD", ["serves v1alpha1", "not v1"]),
    "a definition without caches": (
        put(f"{CRDS}/{CRD}", crd("v1", fields=("kvCacheSpec",))),
        FAIL,
        "operator CRD",
        ["intelligentRoutingSpec", "kubectl get crd"],
    ),
    "no operator": (gone(MANAGER), FAIL, "operator", [OPERATOR, "inferenceOperator.namespace"]),
    "an operator that is down": (
        put(MANAGER, deployment(f"{IMAGE}:v3.2", "False")),
        FAIL,
        "operator",
        ["not Available", "no Pod", "kubectl -n hyperpod-inference-system logs"],
    ),
    "another version than told": (
        tell(operator={"namespace": OPERATOR, "version": "3.7"}),
        WARN,
        "operator version",
        ["v3.2", 'inferenceOperator.version: "3.2"'],
    ),
    "no cert-manager": (
        gone(f"{CRDS}/issuers.cert-manager.io"),
        WARN,
        "cert-manager",
        ["issuers.cert-manager.io", "AWS's operator"],
    ),
    "no nodes that match": (
        tell(workloads=[engine(nodeSelector={"pool": "gpu"})]),
        FAIL,
        "nodes",
        ["2 without label pool=gpu", "kubectl get nodes"],
    ),
    "too few GPUs": (tell(workloads=[engine(replicas=3)]), FAIL, "nodes", ["3 Pods", "room for 2 even when empty"]),
    "no room for a rollout": (tell(workloads=[engine(surge=1)]), WARN, "nodes", ["1 more", "maxSurge: 0"]),
    "a sick node": (
        put("/api/v1/nodes/node-3", node(health="UnschedulablePendingReboot")),
        WARN,
        "node health",
        ["node-3: UnschedulablePendingReboot"],
    ),
    "an old CNI": (
        put(
            f"{APPS}/kube-system/daemonsets/aws-node",
            {"spec": {"template": {"spec": {"containers": [{"name": "aws-node", "image": "cni:v1.18.2"}]}}}},
        ),
        WARN,
        "VPC CNI",
        ["v1.18.2", "aws eks update-addon"],
    ),
    "no claim": (gone(CLAIM), FAIL, "claims", ["kv-l2 absent", "l2.volume.claimName", "kubectl -n kv get pvc"]),
    "a claim of one node": (
        put(CLAIM, claim(mode="ReadWriteOnce")),
        FAIL,
        "claims",
        ["ReadWriteOnce", "ReadWriteMany"],
    ),
    "a claim that goes": (
        put(CLAIM, claim(deletionTimestamp="2026-01-01T00:00:00Z")),
        FAIL,
        "claims",
        ["is being deleted"],
    ),
    "a claim of no class": (
        put(CLAIM, claim("Pending")),
        FAIL,
        "claims",
        ["StorageClass shared absent", "kubectl get storageclass"],
    ),
    "a lost claim": (put(CLAIM, claim("Lost")), FAIL, "claims", ["kv-l2 Lost", "kubectl -n kv describe pvc kv-l2"]),
    "no class for a claim that is made": (
        tell(claims=[{"key": "l2.volume", "name": "x", "made": True, "storageClass": "fast"}]),
        FAIL,
        "claims",
        ["StorageClass fast absent"],
    ),
    "a claim that is made, and goes": (
        kept(made(deletionTimestamp="2026-01-01T00:00:00Z")),
        FAIL,
        "claims",
        ["demo-l2 is being deleted", "kubectl wait --for=delete pvc/demo-l2 -n kv"],
    ),
    "a claim that was made of another class": (
        kept(made("fast")),
        FAIL,
        "claims",
        ["class fast", "l2.volume: claim demo-l2 is of class 'fast'", "changes the class of no claim", "make it anew"],
    ),
    "a claim that was made of another size": (
        kept(made(size="100Gi")),
        FAIL,
        "claims",
        ["demo-l2 of 100Gi", "l2.volume.size: claim demo-l2 was made with 100Gi", "set it to 100Gi", "Or make it anew"],
    ),
    "no driver": (
        gone("/apis/storage.k8s.io/v1/csidrivers/curvine"),
        FAIL,
        "CSI driver",
        ["curvine absent", "kubectl get csidriver"],
    ),
    "no tiered storage": (gone(DAEMON), WARN, "parts", ["ai-toolkit absent"]),
    "tiered storage on no node": (
        put(DAEMON, {"status": {"desiredNumberScheduled": 0, "numberReady": 0}}),
        WARN,
        "parts",
        ["0 of 0", "kubectl get nodes --show-labels"],
    ),
    "tiered storage not everywhere": (
        put(DAEMON, {"status": {"desiredNumberScheduled": 2, "numberReady": 1}}),
        WARN,
        "parts",
        ["1 of 2"],
    ),
    "a pool without masters": (
        put(f"{APPS}/pool/statefulsets/p-master", {"spec": {"replicas": 3}, "status": {}}),
        FAIL,
        "parts",
        ["0 of 3", "kubectl -n pool describe statefulset"],
    ),
    "no account": (
        gone(ACCOUNT),
        FAIL,
        "accounts",
        [
            "kubectl -n kv create serviceaccount m-sa",
            "kubectl -n kv label serviceaccount m-sa sagemaker.amazonaws.com/user-assignable=true",
        ],
    ),
    "an account without the operator's label": (
        put(ACCOUNT, {}),
        FAIL,
        "accounts",
        ["DeploymentFailed", "kubectl -n kv label serviceaccount m-sa"],
    ),
    "no pull secret": (
        gone(f"{KV}/secrets/regcred"),
        FAIL,
        "pull secrets",
        ["regcred absent", "kubectl -n kv create secret docker-registry regcred"],
    ),
    "a secret of another type": (put(f"{KV}/secrets/regcred", {"type": "Opaque"}), FAIL, "pull secrets", ["Opaque"]),
    "a restricted namespace": (
        put(KV, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}),
        FAIL,
        "pod security",
        ["restricted", "hostPath", "kubectl label namespace kv pod-security.kubernetes.io/enforce=privileged"],
    ),
    "a policy where none is served": (
        tell(patch={"mechanism": "policy"}),
        FAIL,
        "policy kind",
        ["MutatingAdmissionPolicy", "mechanism: webhook"],
    ),
    "Kyverno's webhook": (
        put(f"{WEBHOOKS}/kyverno-resource-mutating-webhook-cfg", pods_webhook("*")),
        WARN,
        "mutators",
        ["kyverno-resource-mutating-webhook-cfg"],
    ),
    "Kyverno's policies": (
        put("/apis/kyverno.io/v1/clusterpolicies/add-env", {"spec": {"rules": [{"mutate": {"a": 1}}]}}),
        WARN,
        "mutators",
        ["add-env", "kubectl get clusterpolicy"],
    ),
    "Gatekeeper": (
        put(f"{CRDS}/constrainttemplates.templates.gatekeeper.sh", crd("v1")),
        WARN,
        "mutators",
        ["Gatekeeper"],
    ),
    "a patch of a namespace that is gone": (
        put(f"{WEBHOOKS}/old", webhook("gone")),
        FAIL,
        "patch webhook",
        ["namespace gone is gone", "kubectl delete mutatingwebhookconfiguration old"],
    ),
    "a patch that nobody trusts": (put(f"{WEBHOOKS}/mine", webhook("kv", "")), WARN, "patch webhook", ["no caBundle"]),
    "a patch that nobody answers for": (
        put(f"{WEBHOOKS}/mine", webhook("kv")),
        WARN,
        "patch webhook",
        ["no endpoint ready", "kubectl -n kv get endpointslices"],
    ),
    "a limit that is too high": (
        put(f"{KV}/limitranges/lr", {"spec": {"limits": [LIMIT]}}),
        FAIL,
        "limit range",
        ["container vllm has limit 64Gi memory, at most 16Gi memory"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_lack_has_its_row(site: Site, case: str) -> None:
    change, severity, check, words = CASES[case]
    change(site)
    row = site.only(severity)
    assert row.check == check
    for word in words:
        assert word in said(row), said(row)


def test_the_operator_under_its_other_name_and_under_any(site: Site) -> None:
    site.api.objects.pop(MANAGER)
    site.api.add(
        f"{APPS}/{OPERATOR}/deployments/hyperpod-inference-operator-controller-manager", deployment(f"{IMAGE}:v3.7")
    )
    seen = {row.check: row for row in site.rows()}
    assert "Helm chart" in seen["operator"].seen
    assert (seen["lmcache mode"].severity, seen["lmcache mode"].seen) == (INFO, "operator v3.7")
    site.api.objects.pop(f"{APPS}/{OPERATOR}/deployments/hyperpod-inference-operator-controller-manager")
    site.api.add(f"{APPS}/aws/deployments/renamed", deployment(f"{IMAGE}@sha256:aa"))
    row = site.only(WARN)
    assert "inferenceOperator.namespace: aws" in said(row)
    # Its init container's image begins with the same words.
    site.api.objects.pop(f"{APPS}/aws/deployments/renamed")
    site.api.add(f"{APPS}/aws/deployments/other", deployment(f"{IMAGE}-init-container:v1.0"))
    assert site.only().check == "operator"


def test_cert_manager_that_the_patch_needs_fails(site: Site) -> None:
    site.release["patch"] = {"mechanism": "webhook", "certManager": True}
    site.api.objects.pop(f"{CRDS}/certificates.cert-manager.io")
    assert "certificate.source: release" in said(site.only())


def test_a_claim_of_the_release_that_is_there_as_values_make_it(site: Site) -> None:
    """OC-26: an upgrade without a change, however the size is written."""
    kept(made(size="8192Mi"))(site)
    (row,) = [row for row in site.rows() if row.check == "claims"]
    assert row.finding is None
    assert row.seen == "demo-l2 is there, as these values make it"


def test_a_claim_that_waits_for_its_first_pod_is_no_fault(site: Site) -> None:
    """OC-22: nothing else would bind it, and the release's own Pods do."""
    site.api.add(CLAIM, claim("Pending"))
    shared = "/apis/storage.k8s.io/v1/storageclasses/shared"
    site.api.add(shared, {"volumeBindingMode": "WaitForFirstConsumer"})
    (row,) = [row for row in site.rows() if row.check == "claims"]
    assert (row.severity, "binds with its first Pod" in row.seen) == (INFO, True)
    site.api.add(shared, {"volumeBindingMode": "Immediate"})
    assert "nothing that the release makes would bind it" in said(site.only())


def test_all_workers_tainted_and_a_node_of_another_architecture(site: Site) -> None:
    """OC-20."""
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    for name in ("node-1", "node-2"):
        site.api.add(f"/api/v1/nodes/{name}", node(taints=[taint]))
    row = site.only()
    assert "2 tainted dedicated=gpu:NoSchedule" in said(row)
    assert "{key: dedicated, operator: Equal, value: gpu, effect: NoSchedule}" in said(row)
    site.release["workloads"] = [engine(tolerations=[{"key": "dedicated", "operator": "Exists"}])]
    assert not site.bad()
    site.api.add("/api/v1/nodes/node-3", node(labels={"kubernetes.io/arch": "arm64"}))
    row = site.only(WARN)
    assert (row.check, "amd64 and arm64" in said(row)) == ("architecture", True)


def test_no_device_plugin_is_told_apart_from_small_nodes(site: Site) -> None:
    for name in ("node-1", "node-2"):
        site.api.add(f"/api/v1/nodes/{name}", node(room={GPU: "0"}))
    assert "device plugin" in said(site.only())
    for name in ("node-1", "node-2"):
        site.api.add(f"/api/v1/nodes/{name}", node(room={GPU: "2"}))
    row = site.only()
    assert "device plugin" not in said(row)
    assert f"2 too little {GPU}" in said(row)


@pytest.mark.parametrize("change", [{"ready": "False"}, {"unschedulable": True}, {"ready": "Unknown"}])
def test_nodes_that_are_not_there(site: Site, change: Json) -> None:
    site.api.add("/api/v1/nodes/node-2", node(**change))
    assert "room for 1" in said(site.only())


def test_one_node_takes_all(site: Site) -> None:
    site.api.add("/api/v1/nodes/node-1", node(room={GPU: "8"}))
    site.api.objects.pop("/api/v1/nodes/node-2")
    assert "only one node" in said(site.only(WARN))


def pod(name: str, namespace: str, where: str, labels: Json, **amounts: str) -> tuple[str, Json]:
    container = {"name": "a", "resources": {"requests": amounts, "limits": amounts}}
    found = {
        "metadata": {"labels": labels},
        "spec": {"nodeName": where, "containers": [container]},
        "status": {"phase": "Running"},
    }
    return f"/api/v1/namespaces/{namespace}/pods/{name}", found


def test_what_others_hold_is_not_free_and_the_releases_own_is(site: Site) -> None:
    path, mine = pod("a", "kv", "node-1", {"app": "demo-tiny"}, **{GPU: "4"})
    site.api.add(path, mine)
    assert not site.bad(WARN)
    path, other = pod("b", "else", "node-2", {"app": "demo-tiny"}, **{GPU: "1"})
    site.api.add(path, other)
    row = site.only(WARN)
    assert "1 of 2 Pods would fit now" in said(row)
    other["status"]["phase"] = "Succeeded"
    assert not site.bad(WARN)


def quota(used: dict[str, str] | None = None, hard: dict[str, str] | None = None, **more: str) -> Json:
    return {"spec": {"hard": {**(hard or {}), **more}}, "status": {"used": used or {}}}


def test_a_quota_that_is_too_small_prints_the_missing_figure(site: Site) -> None:
    """OC-19."""
    path = f"{KV}/resourcequotas/team"
    site.api.add(path, quota(pods="1"))
    assert "1 pods missing: needed 2 pods, free 1 pods of 1 pods" in said(site.only())
    site.api.add(path, quota({"limits.memory": "20Gi"}, {"limits.memory": "100Gi"}))
    assert "48Gi limits.memory missing: needed 128Gi limits.memory, free 80Gi limits.memory" in said(site.only())
    site.api.add(path, quota(hard={f"requests.{GPU}": "4", "cpu": "7500m"}))
    row = site.only()
    assert f"4 requests.{GPU} missing" in said(row)
    assert "500m requests.cpu missing" in said(row)
    site.api.add(path, quota(hard={f"requests.{GPU}": "8", "memory": "64Gi", "limits.cpu": "16", "pods": "2"}))
    assert not site.bad()


def test_an_upgrade_does_not_count_twice(site: Site) -> None:
    site.api.add(f"{KV}/resourcequotas/team", quota({"pods": "2"}, pods="2"))
    for name in "ab":
        site.api.add(*pod(name, "kv", "node-1", {"app.kubernetes.io/instance": "demo"}, cpu="1"))
    assert not site.bad()
    # Whose they are is not known: it may be an upgrade.
    site.api.denied.add("list pods")
    rows = site.bad(WARN)
    assert "unless what is used there is this release's own" in said(rows[0])


def test_a_rollout_beyond_the_quota_only_warns(site: Site) -> None:
    site.release["workloads"] = [engine(replicas=1, surge=1)]
    site.api.add(f"{KV}/resourcequotas/team", quota(pods="1"))
    assert "no room for a rollout" in said(site.only(WARN))


def test_a_quota_refuses_who_says_nothing_unless_a_range_says_it(site: Site) -> None:
    site.api.add(f"{KV}/resourcequotas/team", quota(hard={"limits.ephemeral-storage": "1Ti"}))
    row = site.only()
    assert "limits.ephemeral-storage" in said(row)
    assert "models.tiny, container vllm" in said(row)
    default = {"type": "Container", "default": {"ephemeral-storage": "1Gi"}}
    site.api.add(f"{KV}/limitranges/lr", {"spec": {"limits": [default]}})
    assert not site.bad()


def test_a_quota_of_other_pods_is_not_compared(site: Site) -> None:
    found = quota(pods="0")
    found["spec"]["scopes"] = ["BestEffort"]
    site.api.add(f"{KV}/resourcequotas/team", found)
    assert not site.bad()
    found["spec"]["scopes"] = ["NotTerminating"]
    assert site.only().check == "quota"


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ({"type": "Container", "maxLimitRequestRatio": {"cpu": "1.5"}}, "limit / request = 2.0, at most 1.5"),
        ({"type": "Container", "min": {"memory": "48Gi"}}, "request 32Gi memory, at least 48Gi memory"),
        ({"type": "Pod", "max": {"cpu": "4"}}, "Pod has limit 8 cpu, at most 4 cpu"),
    ],
)
def test_a_limit_range_refuses(site: Site, limit: Json, says: str) -> None:
    site.api.add(f"{KV}/limitranges/lr", {"spec": {"limits": [limit]}})
    assert says in said(site.only())


def test_a_default_that_would_kill_containers_without_limits_is_no_fault_of_ours(site: Site) -> None:
    site.api.add(f"{KV}/limitranges/lr", {"spec": {"limits": [{"type": "Container", "default": {"memory": "128Mi"}}]}})
    assert not site.bad()


@pytest.mark.parametrize(
    ("right", "checks", "shown"),
    [
        ("list nodes", 2, "kubectl auth can-i list nodes"),
        ("get customresourcedefinitions.apiextensions.k8s.io", 3, "kubectl auth can-i get customresourcedefinitions"),
        ("list resourcequotas", 1, "kubectl auth can-i list resourcequotas -n kv"),
        ("get secrets", 1, 'a Role: {apiGroups: [""], resources: [secrets], verbs: [get]}'),
    ],
)
def test_what_may_not_be_read_is_a_warning_that_names_the_right(
    site: Site, right: str, checks: int, shown: str
) -> None:
    site.api.denied.add(right)
    assert not site.bad()
    rows = site.bad(WARN)
    assert len(rows) == checks
    assert all(right in said(row) for row in rows)
    assert shown in said(rows[0])


def test_nothing_may_be_read(site: Site) -> None:
    site.rows()
    site.api.denied = {doing for doing in site.api.asked if doing != "get /version"}
    rows = site.rows()
    assert not [row for row in rows if row.severity == FAIL]
    assert len([row for row in rows if row.seen == "not looked at"]) > 10


def test_an_api_server_that_is_away_for_a_while(site: Site) -> None:
    site.api.fails = 5
    assert not site.bad()
    assert site.time.now > 0


def test_the_deadline_ends_it_with_a_row(site: Site) -> None:
    site.api.fails = 1000
    rows = site.rows(10.0)
    assert rows[-1].severity == FAIL
    assert site.time.now <= 10.0


def test_a_failure_that_is_tolerated_warns(site: Site) -> None:
    site.release |= {"workloads": [engine(nodeSelector={"pool": "gpu"})], "tolerate": ["nodes"]}
    assert "tolerated" in said(site.only(WARN))


def test_on_plain_kubernetes_nobody_asks_for_the_operator(site: Site) -> None:
    site.release |= {"platform": "kubernetes", "operator": None, "patch": None}
    for path in [path for path in site.api.objects if "hyperpod-inference" in path or "customresource" in path]:
        site.api.objects.pop(path)
    assert not [row for row in site.rows() if row.severity in (FAIL, WARN)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "must be an object"),
        ('{"platform": "x", "namespace": "a", "instance": "b", "colour": 1}', "unknown key colour"),
        ('{"platform": "x", "namespace": "a", "instance": "b", "claims": [{"key": "k"}]}', "claims[0]"),
        ('{"platform": "x", "namespace": "a", "instance": "b", "workloads": [1]}', "workloads[0] is no object"),
        ('{"platform": "x"}', "namespace"),
    ],
)
def test_a_configuration_that_is_none(text: str, says: str) -> None:
    with pytest.raises(UsageError, match="Fix: ") as refused:
        parse(text, "--config x")
    assert says in str(refused.value)
