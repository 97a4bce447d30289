"""The mechanism `webhook` as rendered: its server, its certificate, and what tells the API server of it."""

from __future__ import annotations

import argparse

import pytest

from chart.apiserver import OPERATOR, serve
from chart.cases import PATCHED_NAMESPACES, l2_patch
from chart.helm import Helm, Json, Manifests, model
from chart.l2_patch import NAME, POLICY, WEBHOOK, WEBHOOK_KIND, WIDE, mechanisms, parameters, patched
from chart.test_live import ACCOUNT, KV, MODELS, live_options
from tiered_kv_cache.patch.arguments import arguments

BY_RELEASE = l2_patch(mechanism="webhook", webhook={"certificate": {"source": "release"}})


@pytest.fixture(scope="module")
def manifests(helm: Helm) -> Manifests:
    return patched(helm, BY_RELEASE)


def told(container: Json) -> argparse.Namespace:
    """Its arguments, as the program itself reads them."""
    parser = argparse.ArgumentParser()
    arguments(parser.add_subparsers())
    return parser.parse_args(container["args"])


def _container(spec: Json) -> Json:
    (found,) = spec["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def _configuration(manifests: Manifests) -> Json:
    (found,) = manifests.get(WEBHOOK_KIND, WIDE)["webhooks"]
    assert isinstance(found, dict)
    return found


def test_the_server_finds_what_is_mounted(manifests: Manifests) -> None:
    deployment = manifests.get("Deployment", NAME)
    container = _container(deployment["spec"])
    found = told(container)
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert (str(found.parameters), str(found.certificate)) == (mounts["parameters"], mounts["certificate"])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert (found.port, found.health_port) == (ports["https"], ports["health"]) == (9443, 8080)
    volumes = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["volumes"]}
    assert volumes["parameters"]["configMap"] == {"name": NAME}
    secret = volumes["certificate"]["secret"]
    assert (secret["secretName"], [each["key"] for each in secret["items"]]) == (NAME, ["tls.crt", "tls.key"])
    assert found.drain + found.drain_deadline < deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]


def test_it_is_never_away(manifests: Manifests) -> None:
    spec = manifests.get("Deployment", NAME)["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = spec["template"]["spec"]
    labels = spec["selector"]["matchLabels"]
    terms = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [each["podAffinityTerm"]["topologyKey"] for each in terms] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    assert all(each["podAffinityTerm"]["labelSelector"]["matchLabels"] == labels for each in terms)
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"] == labels
    budget = manifests.get("PodDisruptionBudget", NAME)["spec"]
    assert (budget["maxUnavailable"], budget["selector"]["matchLabels"]) == (1, labels)


def test_one_replica_has_no_budget(helm: Helm) -> None:
    found = patched(helm, WEBHOOK, l2_patch(webhook={"replicas": 1}))
    assert NAME not in [each["metadata"]["name"] for each in found.of("PodDisruptionBudget")]


def test_it_has_no_access_to_the_api_and_calls_nobody(manifests: Manifests) -> None:
    assert manifests.get("Deployment", NAME)["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
    assert not [
        each
        for kind in ("RoleBinding", "ClusterRoleBinding")
        for each in manifests.of(kind)
        if each["subjects"][0]["name"] == NAME
    ]
    policy = manifests.get("NetworkPolicy", NAME)["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["egress"] == []
    assert policy["ingress"] == [{"ports": [{"port": "https", "protocol": "TCP"}]}]


def test_prometheus_reaches_its_metrics_only(helm: Helm) -> None:
    peer = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    found = patched(helm, BY_RELEASE, {"networkPolicy": {"metricsFrom": [peer]}})
    rules = found.get("NetworkPolicy", NAME)["spec"]["ingress"]
    assert rules[1] == {"from": [peer], "ports": [{"port": "health", "protocol": "TCP"}]}


def test_the_api_server_is_told_the_least(manifests: Manifests) -> None:
    found = _configuration(manifests)
    fields = ("failurePolicy", "timeoutSeconds", "reinvocationPolicy", "sideEffects", "matchPolicy")
    assert [found[key] for key in fields] == ["Fail", 5, "IfNeeded", "None", "Equivalent"]
    assert found["objectSelector"] == {
        "matchLabels": {"deploying-service": "hyperpod-inference"},
        "matchExpressions": [{"key": "app", "operator": "Exists"}],
    }
    assert found["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["tiered-kv-cache"]}
    ]
    assert [(rule["operations"], rule["resources"]) for rule in found["rules"]] == [(["CREATE"], ["pods"])]
    assert [each["expression"] for each in found["matchConditions"]] == [
        "request.namespace == 'tiered-kv-cache' && object.metadata.labels['app'] in ['demo-tiny']"
    ]


def test_all_of_a_namespace_or_some(helm: Helm) -> None:
    found = patched(helm, BY_RELEASE, l2_patch(namespaces=PATCHED_NAMESPACES))
    (condition,) = _configuration(found)["matchConditions"]
    assert condition["expression"].split("\n|| ") == [
        "request.namespace in ['cards']",
        "request.namespace == 'loans' && object.metadata.labels['app'] in ['llama','qwen']",
        "request.namespace == 'tiered-kv-cache' && object.metadata.labels['app'] in ['demo-tiny']",
    ]


def test_server_and_configuration_go_by_the_same_parameters(helm: Helm, manifests: Manifests) -> None:
    def of(found: Manifests) -> tuple[str, str, str]:
        pod = found.get("Deployment", NAME)["spec"]["template"]
        revision = parameters(found)["revision"]
        path = _configuration(found)["clientConfig"]["service"]["path"]
        return revision, path, pod["metadata"]["annotations"]["tiered-kv-cache.io/parameters"]

    revision, path, annotation = of(manifests)
    assert (path, annotation) == (f"/pods/{revision}", revision)
    assert of(patched(helm, BY_RELEASE, model(cache={"hashSeed": 3})))[0] != revision


def test_it_is_called_at_its_service(manifests: Manifests) -> None:
    service = manifests.get("Service", NAME)
    pod = manifests.get("Deployment", NAME)["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    config = _configuration(manifests)["clientConfig"]
    assert {key: config["service"][key] for key in ("name", "namespace", "port")} == {
        "name": NAME,
        "namespace": "tiered-kv-cache",
        "port": service["spec"]["ports"][0]["port"],
    }
    # Of the certificate's maker; a chart that said it would take it away with each upgrade.
    assert "caBundle" not in config


def test_nothing_random_is_rendered(helm: Helm, manifests: Manifests) -> None:
    assert "Secret" not in {each["kind"] for each in manifests.objects}
    again = Helm(helm.path)
    assert patched(again, BY_RELEASE).text == manifests.text


def test_the_certificate_is_there_before_the_server_and_known_after_it(manifests: Manifests) -> None:
    before, after = (manifests.get("Job", f"demo-l2-certificate-{when}") for when in ("before", "after"))
    phases = [each["metadata"]["annotations"]["helm.sh/hook"] for each in (before, after)]
    assert phases == ["pre-install,pre-upgrade", "post-install,post-upgrade"]
    daily = manifests.get("CronJob", "demo-l2-certificate-daily")["spec"]["jobTemplate"]
    for job, optional in ((before, True), (after, False), (daily, False)):
        found = told(_container(job["spec"]))
        assert (found.namespace, found.secret, found.service) == ("tiered-kv-cache", NAME, NAME)
        assert (found.webhook, found.webhook_optional, found.issued) == (WIDE, optional, False)
        assert job["spec"]["activeDeadlineSeconds"] == 120


def test_a_hook_brings_its_account_in_the_same_phases_before_it(manifests: Manifests) -> None:
    job = manifests.get("Job", "demo-l2-certificate-before")
    account = job["spec"]["template"]["spec"]["serviceAccountName"]
    phases, weight = (job["metadata"]["annotations"][f"helm.sh/{key}"] for key in ("hook", "hook-weight"))
    wide = f"{WIDE}.certificate-before"
    for kind, name in (
        *(("ServiceAccount", account), ("Role", account), ("RoleBinding", account)),
        *(("ClusterRole", wide), ("ClusterRoleBinding", wide)),
    ):
        found = manifests.get(kind, name)["metadata"]["annotations"]
        assert found["helm.sh/hook"] == phases
        assert int(found["helm.sh/hook-weight"]) < int(weight)
    after = manifests.get("Job", "demo-l2-certificate-after")["spec"]["template"]["spec"]["serviceAccountName"]
    # Helm's own objects are there by then.
    assert "annotations" not in manifests.get("ServiceAccount", after)["metadata"]


@pytest.mark.parametrize("when", ["before", "daily"])
def test_who_makes_the_certificate_may_do_no_more_than_that(manifests: Manifests, when: str) -> None:
    assert manifests.get("Role", f"demo-l2-certificate-{when}")["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [NAME], "verbs": ["get", "update"]},
    ]
    assert manifests.get("ClusterRole", f"{WIDE}.certificate-{when}")["rules"] == [
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": [WIDE],
            "verbs": ["get", "patch"],
        }
    ]


CERT_MANAGER = ("--api-versions", "cert-manager.io/v1", "--api-versions", "cert-manager.io/v1/Certificate")


@pytest.mark.parametrize(
    ("source", "apis", "expected"),
    [
        ("auto", (), "release"),
        ("auto", CERT_MANAGER, "certManager"),
        ("auto", CERT_MANAGER[:2], "certManager"),
        ("release", CERT_MANAGER, "release"),
        ("certManager", (), "certManager"),
    ],
)
def test_one_source_of_the_certificate(helm: Helm, source: str, apis: tuple[str, ...], expected: str) -> None:
    found = patched(helm, WEBHOOK, l2_patch(webhook={"certificate": {"source": source}}), extra=apis)
    kinds = {each["kind"] for each in found.objects}
    assert ("Certificate" in kinds, "CronJob" in kinds) == (expected == "certManager", expected == "release")
    annotations = found.get(WEBHOOK_KIND, WIDE)["metadata"].get("annotations", {})
    wanted = {"cert-manager.io/inject-ca-from": f"tiered-kv-cache/{NAME}"} if expected == "certManager" else {}
    assert annotations == wanted


def test_cert_manager_makes_the_secret_that_is_mounted(helm: Helm) -> None:
    found = patched(helm, WEBHOOK, l2_patch(webhook={"certificate": {"source": "certManager"}}))
    spec = found.get("Certificate", NAME)["spec"]
    assert (spec["secretName"], spec["dnsNames"]) == (NAME, [f"{NAME}.tiered-kv-cache.svc"])
    # Not self-signed: its authority stays when it is renewed.
    authority = found.get("Issuer", spec["issuerRef"]["name"])["spec"]["ca"]["secretName"]
    ca = found.get("Certificate", authority)["spec"]
    assert (ca["secretName"], ca["isCA"]) == (authority, True)
    assert found.get("Issuer", ca["issuerRef"]["name"])["spec"] == {"selfSigned": {}}


def test_nodes_of_the_server_and_of_its_jobs(helm: Helm) -> None:
    toleration = {"key": "dedicated", "operator": "Exists"}
    found = patched(helm, BY_RELEASE, l2_patch(webhook={"nodeSelector": {"a": "b"}, "tolerations": [toleration]}))
    jobs = [found.get("Job", f"demo-l2-certificate-{when}") for when in ("before", "after")]
    jobs.append(found.get("CronJob", "demo-l2-certificate-daily")["spec"]["jobTemplate"])
    for each in (found.get("Deployment", NAME), *jobs):
        spec = each["spec"]["template"]["spec"]
        assert (spec["nodeSelector"], spec["tolerations"]) == ({"a": "b"}, [toleration])


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ((), {"policy"}),
        (("mutatingwebhookconfigurations",), {"policy", "webhook"}),
        (("mutatingwebhookconfigurations", "mutatingadmissionpolicies"), {"policy"}),
    ],
)
def test_the_webhook_leaves_once_the_policies_act(helm: Helm, there: tuple[str, ...], expected: set[str]) -> None:
    owned = {
        "name": WIDE,
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "demo", "meta.helm.sh/release-namespace": "tiered-kv-cache"},
    }
    objects = {f"{resource}//{WIDE}": {"metadata": owned} for resource in there}
    with serve({**ACCOUNT, **KV, **MODELS, **objects}, OPERATOR) as url:
        assert mechanisms(patched(helm, POLICY, extra=live_options(url))) == expected
