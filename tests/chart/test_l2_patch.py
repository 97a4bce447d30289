"""The L2 patch: for which Pods a release has one, with which parameters, and by which mechanism."""

from __future__ import annotations

import re

import pytest

from chart.cases import HYPERPOD, PATCHED_NAMESPACES, l2_patch
from chart.helm import Helm, Json, model
from chart.l2_patch import NAME, POLICY, POLICY_KINDS, WEBHOOK, WEBHOOK_KIND, mechanisms, parameters, patched

OTHERS = l2_patch(namespaces=PATCHED_NAMESPACES)


def test_parameters_of_own_models(helm: Helm) -> None:
    alike = {"source": {"claim": {"name": "models"}}, "engine": {"lmcacheMode": "multiProcess"}}
    second = {"models": {"other": {**alike, "cache": {"hashSeed": 7}}}}
    without = {"models": {"none": {**alike, "cache": {"l2": {"enabled": False}}}}}
    found = parameters(patched(helm, {"l2": {"mountPath": "/mnt/l2"}}, second, without))
    assert found.pop("tiered-kv-cache.adapterParams").startswith('{"direct_io":false,')
    assert len(found.pop("revision")) == 16
    assert found == {
        "tiered-kv-cache.models": "demo-other,demo-tiny",
        "tiered-kv-cache.claim": "kv",
        "tiered-kv-cache.mountPath": "/mnt/l2",
        "tiered-kv-cache.adapter": "guarded",
        "tiered-kv-cache.demo-tiny.hashSeed": "0",
        "tiered-kv-cache.demo-other.hashSeed": "7",
    }


def test_adapter_params_are_those_of_the_engines_but_for_what_the_patch_sets(helm: Helm) -> None:
    text = parameters(patched(helm))["tiered-kv-cache.adapterParams"]
    assert '"load_threads":8' in text
    assert '"base_path"' not in text
    assert '"pod"' not in text


def test_a_pool_of_the_nodes_is_mounted_with_propagation(helm: Helm) -> None:
    pool = {
        "l2": {"volume": {"type": "curvine", "claimName": ""}},
        "curvine": {"workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}}},
    }
    assert parameters(patched(helm, pool))["tiered-kv-cache.propagation"] == "HostToContainer"
    assert "tiered-kv-cache.propagation" not in parameters(patched(helm))


def test_without_a_guarded_model_the_adapter_is_not_named(helm: Helm) -> None:
    found = parameters(patched(helm, model(cache={"l2": {"adapter": "fs"}})))
    assert not [key for key in found if "adapter" in key]


def test_lmcache_in_the_engine_has_no_adapter(helm: Helm) -> None:
    found = parameters(helm.template(HYPERPOD))
    assert found["tiered-kv-cache.models"] == "demo-tiny"
    assert not [key for key in found if "adapter" in key]


def test_parameters_of_other_namespaces(helm: Helm) -> None:
    found = parameters(helm.template({"models": {"tiny": {"enabled": False}}}, OTHERS))
    del found["revision"]
    assert found == {
        "cards.models": "*",
        "cards.claim": "kv-l2",
        "cards.mountPath": "/mnt/kv-l2",
        "cards.hashSeed": "1000000",
        "loans.models": "llama,qwen",
        "loans.claim": "kv-l2",
        "loans.mountPath": "/mnt/l2",
        "loans.propagation": "HostToContainer",
        "loans.hashSeed": "0",
        "loans.adapter": "fs",
        "loans.llama.root": "/mnt/l2/v1/loans/llama/0123456789abcdef",
        "loans.llama.image": "vllm:1",
        "loans.llama.configFile": "wins",
    }


def test_the_revision_changes_with_the_parameters_only(helm: Helm) -> None:
    first, same = patched(helm), patched(helm, {"hooks": {"image": {"tag": "other"}}})
    other = patched(helm, model(cache={"hashSeed": 1}))
    assert parameters(first)["revision"] == parameters(same)["revision"] != parameters(other)["revision"]


WITHOUT: dict[str, tuple[Json, ...]] = {
    "another platform": ({"platform": "kubernetes"},),
    "off": (HYPERPOD, OTHERS, l2_patch(enabled=False)),
    "no model with L2": (HYPERPOD, model(cache={"l2": {"enabled": False}})),
    "no L2": (HYPERPOD, {"l2": {"enabled": False}}),
    "no model": (HYPERPOD, model(enabled=False)),
    "the chart off": (HYPERPOD, OTHERS, {"enabled": False}),
    "deleted": ({"inferenceOperator": {"l2Patch": {"namespaces": None}}},),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_there_is_none(helm: Helm, case: str) -> None:
    found = helm.template(*WITHOUT[case])
    assert not [each for each in found.objects if each["kind"] in (*POLICY_KINDS, WEBHOOK_KIND)]
    assert not [each for each in found.objects if each["metadata"]["name"].startswith(NAME)]


SERVED = ("--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")
BETA_KIND = ("--api-versions", "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy")
GROUPS = ("--api-versions", "admissionregistration.k8s.io/v1", "--api-versions", "admissionregistration.k8s.io/v1beta1")


@pytest.mark.parametrize(
    ("version", "apis", "expected"),
    [
        ("1.28.0", (), "webhook"),
        ("1.28.0", GROUPS, "webhook"),
        ("1.33.4", ("--api-versions", "admissionregistration.k8s.io/v1beta1"), "webhook"),
        ("1.33.4", (*GROUPS, *BETA_KIND), "webhook"),
        ("1.34.0", (), "webhook"),
        ("1.34.0", (*GROUPS, *BETA_KIND), "webhook"),
        ("1.34.0", SERVED, "policy"),
        ("1.35.9", (), "webhook"),
        ("1.36.0", (), "policy"),
        ("1.36.0", GROUPS, "policy"),
        ("1.36.2-eks-1234567", SERVED, "policy"),
        ("1.40.0", (), "policy"),
    ],
)
def test_auto_is_one_mechanism_and_policy_only_where_it_is_surely_served(
    helm: Helm, version: str, apis: tuple[str, ...], expected: str
) -> None:
    assert mechanisms(patched(helm, extra=("--kube-version", version, *apis))) == {expected}


def test_policy_where_it_is_not_served_is_refused(helm: Helm) -> None:
    message = helm.refusal(HYPERPOD, POLICY, extra=("--kube-version", "1.34.1"))
    for text in (
        'l2Patch.mechanism: "policy"',
        "Kubernetes v1.34.1 does not serve",
        "webhook or auto",
        "--api-versions",
    ):
        assert text in message
    assert mechanisms(patched(helm, POLICY, extra=("--kube-version", "1.34.1", *SERVED))) == {"policy"}


def test_webhook_wherever_it_is_asked_for(helm: Helm) -> None:
    assert mechanisms(patched(helm, WEBHOOK, extra=("--kube-version", "1.36.0", *SERVED))) == {"webhook"}


@pytest.mark.parametrize("mechanism", [POLICY, WEBHOOK])
def test_two_releases_of_one_name_have_no_object_in_common(helm: Helm, mechanism: Json) -> None:
    seen: list[tuple[str, str, str]] = []
    for namespace in ("retail", "wealth"):
        found = helm.template(HYPERPOD, mechanism, release="llm", namespace=namespace)
        wide = [each for each in found.objects if "namespace" not in each["metadata"]]
        assert wide
        for each in wide:
            assert re.search(rf"(^|\.){namespace}\.llm([.-]|$)", each["metadata"]["name"])
        seen += [
            (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in found.objects
        ]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("mechanism", [POLICY, WEBHOOK])
def test_the_longest_names_fit(helm: Helm, mechanism: Json) -> None:
    # Of a release whose models are elsewhere: the operator takes no endpoint with names that long.
    found = helm.template(mechanism, OTHERS, model(enabled=False), release="r" * 53, namespace="n" * 63)
    patch = [
        each
        for each in found.objects
        if each["metadata"]["labels"]["app.kubernetes.io/component"].startswith(("l2-", "patch-check"))
    ]
    assert len(patch) > 5
    for each in patch:
        longest = {"CronJob": 52, "Role": 253, "RoleBinding": 253}.get(
            each["kind"], 63 if "namespace" in each["metadata"] else 253
        )
        assert len(each["metadata"]["name"]) <= longest, each["metadata"]["name"]


KEY = "inferenceOperator.l2Patch.namespaces"
GOOD: Json = {"models": ["*"], "claimName": "kv", "mountPath": "/mnt/kv"}


def _namespace(**change: object) -> Json:
    return l2_patch(namespaces={"cards": {**GOOD, **change}})


REFUSED: dict[str, tuple[Json, list[str]]] = {
    "kube-system": (l2_patch(namespaces={"kube-system": GOOD}), [f'{KEY}: "kube-system"', "never wait for a patch"]),
    "kube-public": (l2_patch(namespaces={"kube-public": GOOD}), [f'{KEY}: "kube-public"']),
    "kube-node-lease": (l2_patch(namespaces={"kube-node-lease": GOOD}), [f'{KEY}: "kube-node-lease"']),
    "no namespace": (l2_patch(namespaces={"Cards_1": GOOD}), [f'{KEY}: "Cards_1"', "kubectl get namespaces"]),
    "own namespace": (
        {**HYPERPOD, **l2_patch(namespaces={"tiered-kv-cache": GOOD})},
        [f"{KEY}.tiered-kv-cache: ", "whose models the chart knows", "take it out"],
    ),
    "no models": (_namespace(models=[]), [f"{KEY}.cards.models: []", '["*"]']),
    "two names in one": (_namespace(models=["a,b"]), [f'{KEY}.cards.models: "a,b"']),
    "no claim": (_namespace(claimName=None), [f'{KEY}.cards.claimName: ""', "kubectl get pvc -n cards"]),
    "no mount path": (_namespace(mountPath=None), [f'{KEY}.cards.mountPath: ""', "/mnt/kv-l2"]),
    "relative mount path": (_namespace(mountPath="mnt"), [f'{KEY}.cards.mountPath: "mnt"']),
    "mount path that climbs": (_namespace(mountPath="/mnt/../etc"), [f'{KEY}.cards.mountPath: "/mnt/../etc"']),
    "mount path of the chart's own": (_namespace(mountPath="/run/tkc/l2"), [f'{KEY}.cards.mountPath: "/run/tkc/l2"']),
    "mount path above it": (_namespace(mountPath="/run"), [f'{KEY}.cards.mountPath: "/run"']),
    "root elsewhere": (
        _namespace(engines={"m": {"root": "/mnt/kvx/a", "image": "i"}}),
        [f'{KEY}.cards.engines.m.root: "/mnt/kvx/a"', "below mountPath /mnt/kv"],
    ),
    "root that climbs": (
        _namespace(engines={"m": {"root": "/mnt/kv/../a", "image": "i"}}),
        [f'{KEY}.cards.engines.m.root: "/mnt/kv/../a"'],
    ),
    "root without image": (
        _namespace(engines={"m": {"root": "/mnt/kv/a"}}),
        [f"{KEY}.cards.engines.m.image: not given"],
    ),
    "image without root": (_namespace(engines={"m": {"image": "i"}}), [f"{KEY}.cards.engines.m.root: not given"]),
    "engine that nobody lists": (
        _namespace(models=["a"], engines={"m": {"configFile": "wins"}}),
        [f"{KEY}.cards.engines.m: ", "not in models", "add it there"],
    ),
    "engine without a legal name": (
        _namespace(engines={"M": {"configFile": "wins"}}),
        [f"{KEY}.cards.engines.M: ", "not the name of an InferenceEndpointConfig"],
    ),
    "port of the probes": (
        {**HYPERPOD, **l2_patch(mechanism="webhook", webhook={"port": 8080})},
        ["inferenceOperator.l2Patch.webhook.port: 8080", "probes and metrics"],
    ),
    "webhook's memory": (
        {**HYPERPOD, **l2_patch(mechanism="webhook", webhook={"resources": {"limits": {"memory": "1x"}}})},
        ['inferenceOperator.l2Patch.webhook.resources.limits.memory: "1x"'],
    ),
    "mechanism deleted": (l2_patch(mechanism=None), ["inferenceOperator.l2Patch.mechanism: not given"]),
    "settings that differ": (
        {
            **HYPERPOD,
            "models": {
                "other": {"source": {"claim": {"name": "m"}}, "cache": {"l2": {"settings": {"loadThreads": 2}}}}
            },
        },
        ["models.tiny.cache.l2.settings: ", "models.other has others", "defaults.cache.l2.settings"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_cannot_be_are_refused(helm: Helm, case: str) -> None:
    values, wanted = REFUSED[case]
    helm.assert_refused(values, wanted)


def test_an_own_model_in_a_namespace_of_kubernetes_is_refused(helm: Helm) -> None:
    with pytest.raises(Exception, match='the release\'s namespace: "kube-system"'):
        helm.template(HYPERPOD, namespace="kube-system")


def test_several_faults_are_told_together(helm: Helm) -> None:
    message = helm.refusal(l2_patch(namespaces={"kube-system": {"models": [], "claimName": "A", "mountPath": "b"}}))
    assert "4 faults" in message


def test_the_image_of_the_webhook_is_looked_at_without_models_too(helm: Helm) -> None:
    message = helm.refusal(
        model(enabled=False),
        l2_patch(mechanism="webhook", namespaces={"cards": GOOD}),
        {"hooks": {"image": {"tag": ""}}},
    )
    assert "hooks.image.tag" in message
