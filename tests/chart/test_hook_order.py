"""Hooks of every case: what a Job needs is there before it, also where it runs for the first time in an upgrade (OC-28), and Argo CD
runs them as Helm does (docs/gitops.md).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.cases import CASES
from chart.helm import Helm, Json, Manifests

BEFORE = {"pre-install", "pre-upgrade"}
"""Phases in which nothing of the release need be there."""
MAPPED = {*BEFORE, "post-install", "post-upgrade", "pre-delete"}
"""What Argo CD runs: PreSync, PostSync, and from 3.3 on PreDelete."""
LEFT_OUT = {"test"}
RULES = ("Role", "ClusterRole")


@pytest.fixture(params=CASES)
def manifests(request: pytest.FixtureRequest, helm: Helm) -> Manifests:
    return helm.run("-f", "-", given=json.dumps(CASES[str(request.param)]))


def _phases(found: Json) -> set[str]:
    hook = found["metadata"].get("annotations", {}).get("helm.sh/hook", "")
    return set(filter(None, hook.split(",")))


def _weight(found: Json) -> int:
    return int(found["metadata"]["annotations"].get("helm.sh/hook-weight", "0"))


def _texts(node: Any) -> set[str]:
    """Names of what a Pod mounts or reads: ConfigMaps, Secrets and claims."""
    names = set()
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("configMap", "configMapKeyRef", "configMapRef", "secretKeyRef", "secretRef"):
                names.add(value.get("name", ""))
            elif key == "secret" and isinstance(value, dict):
                names.add(value.get("secretName", ""))
            else:
                names |= _texts(value)
    elif isinstance(node, list):
        for value in node:
            names |= _texts(value)
    return names


def _needed(manifests: Manifests, job: Json) -> list[Json]:
    """Objects of the release that a hook's Pod works with: account, its rules and their bindings, files, policies."""
    template = job if job["kind"] == "Pod" else job["spec"]["template"]
    account, labels = template["spec"]["serviceAccountName"], template["metadata"]["labels"]
    files = _texts(template["spec"])
    bindings = [
        each
        for each in manifests.objects
        if each["kind"].endswith("RoleBinding") and account in [subject["name"] for subject in each["subjects"]]
    ]
    rules = {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in bindings}
    return [
        each
        for each in manifests.objects
        if each in bindings
        or (each["kind"] == "ServiceAccount" and each["metadata"]["name"] == account)
        or (each["kind"] in RULES and (each["kind"], each["metadata"]["name"]) in rules)
        or (each["kind"] in ("ConfigMap", "Secret") and each["metadata"]["name"] in files)
        or (each["kind"] == "NetworkPolicy" and _selects(each, labels) and _phases(each))
    ]


def _selects(policy: Json, labels: Json) -> bool:
    selector = policy["spec"]["podSelector"].get("matchLabels", {})
    return bool(selector) and selector.items() <= labels.items()


def test_what_a_hook_needs_is_there_before_it(manifests: Manifests) -> None:
    for job in manifests.objects:
        if job["kind"] not in ("Job", "Pod") or not _phases(job):
            continue
        needed = _needed(manifests, job)
        assert "ServiceAccount" in {each["kind"] for each in needed}, job["metadata"]["name"]
        for each in needed:
            what = f"{each['kind']} {each['metadata']['name']} of {job['metadata']['name']}"
            if _phases(job) & BEFORE:
                assert _phases(each) >= _phases(job), what
                assert _weight(each) < _weight(job), what
            else:
                # An object of the release itself: it is there when the release is, and goes with it.
                assert not _phases(each), what


def test_argo_cd_runs_what_helm_runs(manifests: Manifests) -> None:
    for found in manifests.objects:
        notes = found["metadata"].get("annotations", {})
        assert _phases(found) <= MAPPED or _phases(found) == LEFT_OUT, found["metadata"]["name"]
        # With one hook of its own Argo CD ignores all of Helm's.
        assert not [key for key in notes if key.startswith("argocd.argoproj.io/hook")]
        if _phases(found):
            # Argo CD applies: what is there already would not run again.
            assert "before-hook-creation" in notes["helm.sh/hook-delete-policy"].split(",")
