"""Labels and annotations of the Pods of hooks: all of them have them, and nothing else has."""

from __future__ import annotations

import pytest

from chart.cases import HYPERPOD, l2_patch
from chart.helm import Helm, Json
from chart.pools import pool

GIVEN: Json = {
    "hooks": {
        "podLabels": {"sidecar.istio.io/inject": "false", "gone": None},
        "podAnnotations": {"linkerd.io/inject": "enabled"},
    }
}
ALL: dict[str, tuple[Json, ...]] = {
    "own pool": (pool(),),
    "aws": ({"hooks": {"aws": {"enabled": True, "region": "eu-west-1", "clusterName": "hp"}}},),
    "endpoints, by webhook": (HYPERPOD, l2_patch(mechanism="webhook", webhook={"certificate": {"source": "release"}})),
}


def hook_pods(objects: list[Json]) -> dict[str, Json]:
    """Metadata of Pods of Jobs, CronJobs and tests by kind and name."""
    found = {}
    for each in objects:
        name = f"{each['kind']} {each['metadata']['name']}"
        if each["kind"] == "Pod":
            found[name] = each["metadata"]
        elif each["kind"] == "Job":
            found[name] = each["spec"]["template"]["metadata"]
        elif each["kind"] == "CronJob":
            found[name] = each["spec"]["jobTemplate"]["spec"]["template"]["metadata"]
    return found


@pytest.mark.parametrize("case", ALL)
def test_all_of_them_have_them(helm: Helm, case: str) -> None:
    manifests = helm.template(*ALL[case], GIVEN)
    found = hook_pods(manifests.objects)
    assert len(found) >= 3
    for metadata in found.values():
        assert metadata["labels"]["sidecar.istio.io/inject"] == "false"
        assert "gone" not in metadata["labels"]
        assert metadata["annotations"]["linkerd.io/inject"] == "enabled"
    assert manifests.text.count("sidecar.istio.io/inject") == len(found)
    assert manifests.text.count("linkerd.io/inject") == len(found)


def test_every_hook_is_among_the_cases(helm: Helm) -> None:
    seen = {name for layers in ALL.values() for name in hook_pods(helm.template(*layers).objects)}
    jobs = ("drain", "preflight", "storage", "aws", "patch-check", "l2-certificate-before", "l2-certificate-after")
    assert {f"Job demo-{name}" for name in jobs} <= seen
    assert {"Pod demo-verify", "Pod demo-patch-check", "CronJob demo-l2-certificate-daily"} <= seen


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"podLabels": {"app.kubernetes.io/instance": "x"}}, ['hooks.podLabels: "app.kubernetes.io/instance"', "use another name"]),
        ({"podLabels": {"a": "x" * 64}}, ["hooks.podLabels", "at most 63", "shorten it"]),
        ({"podLabels": {"a": 1}}, ["hooks.podLabels", "quote it"]),
        ({"podAnnotations": {"tiered-kv-cache.io/x": "1"}}, ["hooks.podAnnotations", "the chart's own", "another prefix"]),
        ({"podAnnotations": {"a": True}}, ["hooks.podAnnotations", "quote it"]),
        ({"podAnnotations": {"x" * 64: "1"}}, ["hooks.podAnnotations", "at most 63 characters"]),
    ],
)  # fmt: skip
def test_refused(helm: Helm, given: Json, wanted: list[str]) -> None:
    helm.assert_refused({"hooks": given}, wanted)
