"""The mechanism `policy` as rendered. What the policies do is tested on a real API server, in tests/patch."""

from __future__ import annotations

import json
import re

import pytest

from chart.helm import Helm, Json, Manifests
from chart.l2_patch import POLICY, POLICY_KINDS, WIDE, patched
from tiered_kv_cache.names import L2_LINK
from tiered_kv_cache.patch import extra_config, names, processes


@pytest.fixture(scope="module")
def manifests(helm: Helm) -> Manifests:
    return patched(helm, POLICY, extra=("--kube-version", "1.36.0"))


def _policies(manifests: Manifests) -> list[Json]:
    return [each for kind in POLICY_KINDS if not kind.endswith("Binding") for each in manifests.of(kind)]


def _bindings(manifests: Manifests) -> list[Json]:
    return [each for kind in POLICY_KINDS if kind.endswith("Binding") for each in manifests.of(kind)]


def _cel(manifests: Manifests, variable: str) -> str:
    (found,) = {
        each["expression"]
        for policy in _policies(manifests)
        for each in policy["spec"]["variables"]
        if each["name"] == variable
    }
    return str(found)


def test_every_policy_has_its_binding(manifests: Manifests) -> None:
    assert {each["metadata"]["name"] for each in _policies(manifests)} == {WIDE, f"{WIDE}.warnings"}
    assert len(_policies(manifests)) == len(_bindings(manifests)) == 3
    for each in _bindings(manifests):
        assert each["spec"]["policyName"] == each["metadata"]["name"]
    actions = {each["metadata"]["name"]: each["spec"].get("validationActions") for each in _bindings(manifests)[1:]}
    assert actions == {WIDE: ["Deny"], f"{WIDE}.warnings": ["Warn"]}


def test_a_policy_that_fails_lets_no_pod_in_and_looks_at_few(manifests: Manifests) -> None:
    for each in _policies(manifests):
        spec = each["spec"]
        assert spec["failurePolicy"] == "Fail"
        # An API server that saw such policies go does not find the ConfigMaps of the next ones (docs/l2-patch.md).
        assert "paramKind" not in spec
        assert spec["matchConstraints"] == {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {
                "matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["tiered-kv-cache"]}
                ]
            },
            "objectSelector": {
                "matchLabels": {"deploying-service": "hyperpod-inference"},
                "matchExpressions": [{"key": "app", "operator": "Exists"}],
            },
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                    "scope": "Namespaced",
                }
            ],
        }
        assert "listed" in [each["name"] for each in spec["variables"]]
    (mutating,) = manifests.of("MutatingAdmissionPolicy")
    assert mutating["spec"]["reinvocationPolicy"] == "IfNeeded"


def test_both_mechanisms_read_json_by_the_same_expressions(manifests: Manifests) -> None:
    assert f"r'{extra_config.OBJECT}'" in _cel(manifests, "extraFault")
    assert f"r'{extra_config.OURS_TOP}'" in _cel(manifests, "extraFault")
    assert f"r'{extra_config.OURS}'" in _cel(manifests, "extraOurs")
    assert f"r'{extra_config.OURS_TEXT}'" in _cel(manifests, "newExtra")
    assert f"r'{processes.SHELL_LINE}'" in _cel(manifests, "shellLines")


def test_both_mechanisms_know_the_same_names(manifests: Manifests) -> None:
    for variable, name in (
        ("newVolumes", names.VOLUME_L2),
        ("newMounts", names.VOLUME_RUN),
        ("newMounts", names.RUN_PATH),
        ("newPythonPath", names.CODE_PATH),
        ("linked", names.INIT_ROOT),
        ("guarded", names.INIT_CODE),
        ("basePath", L2_LINK),
    ):
        assert f"'{name}'" in _cel(manifests, variable)
    assert f'"{names.TMP_DIR}"' in _cel(manifests, "newExtra")
    (policy,) = manifests.of("MutatingAdmissionPolicy")
    expression = policy["spec"]["mutations"][0]["jsonPatch"]["expression"]
    assert f"{{'{names.ANNOTATION}': '{names.VERSION}'}}" in expression
    assert names.ANNOTATION.replace("/", "~1") in expression


def test_every_variable_is_used_and_there_before(manifests: Manifests) -> None:
    for policy in _policies(manifests):
        known: list[str] = []
        for each in policy["spec"]["variables"]:
            assert set(re.findall(r"variables[.](\w+)", each["expression"])) <= set(known), each["name"]
            known.append(each["name"])
        assert len(set(known)) == len(known)
    texts = json.dumps([policy["spec"] for policy in _policies(manifests)])
    assert not [name for name in known if not re.search(rf"variables[.]{name}\b", texts)]


def test_messages_are_ours(manifests: Manifests) -> None:
    validating = manifests.of("ValidatingAdmissionPolicy")
    for each in (validation for policy in validating for validation in policy["spec"]["validations"]):
        assert each["message"].startswith("tiered-kv-cache L2 patch: ")
        assert each.get("messageExpression", "'tiered-kv-cache L2 patch: ' +").startswith(
            "'tiered-kv-cache L2 patch: ' +"
        )
