"""What holds for every object of every render."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from chart.cases import CASES
from chart.helm import CHART, Helm, Json, Manifests
from property.checks import HASH

POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 10001,
    "runAsGroup": 10001,
    "fsGroup": 10001,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}
CLUSTER_WIDE = ("PersistentVolume", "ClusterRole", "ClusterRoleBinding")
CONTAINER_SECURITY = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
CLUSTER_SCOPED = (
    *("PersistentVolume", "StorageClass", "CSIDriver", "ClusterRole", "ClusterRoleBinding"),
    *("MutatingWebhookConfiguration", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)
# Resources whose side a case deletes on purpose.
DELETED = {
    "nulls": {
        "vllm": "limits.cpu",
        "lmcache": "limits.cpu",
        "router": "requests",
        "copy-code": "requests",
        "l2-root": "requests",
        "verify": "requests",
        "storage-check": "requests",
        "preflight": "requests",
    }
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def manifests(helm: Helm, case: str) -> Manifests:
    return helm.run("-f", "-", given=json.dumps(CASES[case]))


def _pods(manifests: Manifests) -> Iterator[tuple[Json, Json]]:
    """The metadata and spec of every Pod that the objects make."""
    for found in manifests.objects:
        if found["kind"] == "Pod":
            yield found["metadata"], found["spec"]
        elif found["kind"] in ("Deployment", "Job"):
            yield found["spec"]["template"]["metadata"], found["spec"]["template"]["spec"]
        elif found["kind"] == "CronJob":
            template = found["spec"]["jobTemplate"]["spec"]["template"]
            yield template["metadata"], template["spec"]


def _containers(manifests: Manifests) -> Iterator[Json]:
    for _, spec in _pods(manifests):
        yield from spec.get("initContainers", [])
        yield from spec["containers"]


def _scalars(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from _scalars(value)
    elif isinstance(node, list):
        for value in node:
            yield from _scalars(value)
    else:
        yield node


def test_names_are_unique_and_legal(manifests: Manifests) -> None:
    seen = [
        (found["kind"], found["metadata"].get("namespace"), found["metadata"]["name"]) for found in manifests.objects
    ]
    assert len(set(seen)) == len(seen)
    for kind, namespace, name in seen:
        # Where the patch is for other namespaces, patch-check may try Pods there, under names that hold the release's.
        if namespace != "tiered-kv-cache" and kind in ("Role", "RoleBinding"):
            assert name == "tiered-kv-cache.demo-patch-check"
            continue
        assert namespace == (None if kind in CLUSTER_SCOPED else "tiered-kv-cache")
        if kind in CLUSTER_SCOPED:
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)
        else:
            assert len(name) <= 63
            assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name)


def test_every_container_has_requests_and_limits(manifests: Manifests, case: str) -> None:
    for container in _containers(manifests):
        have = {
            f"{side}.{resource}"
            for side in ("requests", "limits")
            for resource in container["resources"].get(side, {})
            if "/" not in resource  # devices are lent whole: a limit is enough
        }
        deleted = DELETED.get(case, {}).get(container["name"], "-")
        want = {
            name
            for side in ("requests", "limits")
            for name in (f"{side}.cpu", f"{side}.memory")
            if not name.startswith(deleted)
        }
        assert have == want, container["name"]


def test_every_pod_is_restricted(manifests: Manifests) -> None:
    for metadata, spec in _pods(manifests):
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"] == POD_SECURITY
        component = metadata["labels"]["app.kubernetes.io/component"]
        assert spec["automountServiceAccountToken"] is (
            component
            in (
                "router",
                "verify",
                "storage-check",
                "preflight",
                "patch-check",
                "drain",
                "keeper",
                "curvine-csi-controller",
                "l2-certificate",
            )
        )
        assert any(
            account["metadata"]["name"] == spec["serviceAccountName"] for account in manifests.of("ServiceAccount")
        )
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert not any("hostPath" in volume for volume in spec["volumes"])
    for container in _containers(manifests):
        assert container["securityContext"] == CONTAINER_SECURITY
        assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"] or {
            "name": "tmp-lmcache",
            "mountPath": "/tmp",
        } in container["volumeMounts"]


def test_every_mount_has_its_volume_and_every_volume_a_mount(manifests: Manifests) -> None:
    for _, spec in _pods(manifests):
        mounts = {
            mount["name"]
            for each in (*spec.get("initContainers", []), *spec["containers"])
            for mount in each["volumeMounts"]
        }
        assert mounts == {volume["name"] for volume in spec["volumes"]}


def test_no_number_is_printed_as_a_power(manifests: Manifests) -> None:
    for value in _scalars(manifests.objects):
        text = HASH.sub("", str(value))
        # 1e-05 is no whole number; 1e6 stands in the case's own served name; a-f digits stand in digests.
        found = re.findall(
            r"(?<![0-9a-zA-Z])[0-9.]+e[+-]?[0-9]+(?![0-9a-zA-Z])", text.replace("1e-05", "").replace("Tiny-1e6", "")
        )
        assert not found, text
        assert not isinstance(value, float), text
    assert not re.search(r"[0-9]e\+[0-9]", manifests.text)


def test_every_probe_is_written_out(manifests: Manifests) -> None:
    for _, spec in _pods(manifests):
        for container in spec["containers"]:
            probes = {name: probe for name, probe in container.items() if name.endswith("Probe")}
            for probe in probes.values():
                assert probe["timeoutSeconds"] >= 5
                (handler,) = probe.keys() - {"periodSeconds", "timeoutSeconds", "failureThreshold"}
                assert handler in ("httpGet", "exec")
            if container["name"] in ("vllm", "lmcache"):
                assert probes.keys() == {"startupProbe", "readinessProbe", "livenessProbe"}


def test_rollout_waits_longer_than_a_start(manifests: Manifests) -> None:
    for found in manifests.of("Deployment"):
        for container in found["spec"]["template"]["spec"]["containers"]:
            if probe := container.get("startupProbe"):
                assert found["spec"]["progressDeadlineSeconds"] > probe["periodSeconds"] * probe["failureThreshold"]


def test_json_arguments_parse(manifests: Manifests) -> None:
    for container in _containers(manifests):
        texts = [*container.get("args", []), *(each.get("value", "") for each in container.get("env", []))]
        for text in texts:
            assert isinstance(text, str)
            if text.startswith(("{", "[")):
                json.loads(text)


def test_environment_has_no_name_twice(manifests: Manifests) -> None:
    for container in _containers(manifests):
        names = [each["name"] for each in container.get("env", [])]
        assert len(set(names)) == len(names)
        # $(NAME) is replaced only if NAME stands before its use or in the same container's environment.
        for used in re.findall(r"\$\((\w+)\)", " ".join(container.get("args", []))):
            assert used in names


def test_selectors_match_their_pods_only(manifests: Manifests) -> None:
    for found in manifests.of("Deployment"):
        selector = found["spec"]["selector"]["matchLabels"]
        # These are of the release, all others are of one model.
        of_release = selector["app.kubernetes.io/component"] in (
            "gateway",
            "keeper",
            "curvine-csi-controller",
            "l2-patch",
        )
        assert selector.keys() == {
            "app.kubernetes.io/name",
            "app.kubernetes.io/instance",
            "app.kubernetes.io/component",
            *(() if of_release else ("tiered-kv-cache.io/model",)),
        }
        matching = [metadata for metadata, _ in _pods(manifests) if selector.items() <= metadata["labels"].items()]
        assert matching == [found["spec"]["template"]["metadata"]]
        own = {key: found["metadata"]["labels"].get(key) for key in found["spec"]["template"]["metadata"]["labels"]}
        added = {key for key, value in own.items() if value is None}
        # What values add to Pods stands on the Pods only.
        assert added <= {"team", "cost-centre", "data-class"}
        assert own.items() - {(key, None) for key in added} <= found["spec"]["template"]["metadata"]["labels"].items()


def test_pods_do_not_change_with_the_chart_version(manifests: Manifests) -> None:
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    for metadata, _ in _pods(manifests):
        assert not [key for key, value in metadata["labels"].items() if version in value or "version" in key]


def test_no_blank_line_or_trailing_space(manifests: Manifests) -> None:
    """Left-overs of templates make golden diffs hard to read (Helm 4 itself ends each document with a blank line)."""
    assert not [line for line in manifests.text.splitlines() if line != line.rstrip()]
    assert "\n\n\n" not in manifests.text
