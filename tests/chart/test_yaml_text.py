"""What users and the release write is text in the manifests, whatever YAML would read in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chart.helm import Helm, Json, container, environment, flag, model
from chart.test_umbrella import MANY

GATEWAY: Json = {**MANY, "models": {}}
MISREAD = ("2024", "on", "1e3", "null", "0123", "0x10", "true", "no")
"""Names of namespaces that YAML 1.1 reads as something else."""


def _under(node: Any, wanted: str) -> Iterator[Any]:
    """Every value of this key."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == wanted:
                yield value
            yield from _under(value, wanted)
    elif isinstance(node, list):
        for each in node:
            yield from _under(each, wanted)


@pytest.mark.parametrize("namespace", MISREAD)
def test_namespace(helm: Helm, namespace: str) -> None:
    s3 = {"bucket": "b-1", "region": "eu-west-1", "mode": "mountpoint"}
    manifests = helm.template(GATEWAY, model(source={"claim": None, "s3": s3}), namespace=namespace)
    found = list(_under(manifests.objects, "namespace"))
    # Of objects, of two claimRefs and of three subjects.
    assert len(found) > len(manifests.of("PersistentVolume")) + len(manifests.of("RoleBinding")) + 20
    assert set(map(repr, found)) == {repr(namespace)}
    assert flag(manifests.container("router", "router")["args"], "--service-discovery-namespace") == namespace
    (verify,) = manifests.of("Pod")
    assert flag(verify["spec"]["containers"][0]["args"], "--namespace") == namespace


@pytest.mark.parametrize("release", ["on", "null", "yes", "y"])
def test_release(helm: Helm, release: str) -> None:
    manifests = helm.template(GATEWAY, release=release)
    for found in manifests.objects:
        assert found["metadata"]["labels"]["app.kubernetes.io/instance"] == release
        assert isinstance(found["metadata"]["name"], str)


KEYS = ("N", "NO", "y", "on", "null", "TRUE", "1e3", "0123", "true", "2024-01-01", "12:30:00", "_")
"""Keys that YAML 1.1 reads as something else."""
VARIABLES = [key for key in KEYS if key[0].isalpha() and key != "true"]
LABELS = [key for key in KEYS if key[0].isalnum() and ":" not in key]


def test_keys(helm: Helm) -> None:
    labels = dict.fromkeys(LABELS, "v")
    manifests = helm.template(
        GATEWAY,
        {"modelStore": {"serviceAccountAnnotations": labels}},
        model(
            engine={"env": {key: key for key in VARIABLES}},
            podLabels=labels,
            podAnnotations=labels,
            nodeSelector=labels,
        ),
    )
    pod = manifests.pod()
    assert environment(container(pod, "vllm")).items() >= {key: key for key in VARIABLES}.items()
    account = manifests.get("ServiceAccount", "demo-engine")
    (verify,) = manifests.of("Pod")
    for where in (
        pod["metadata"]["labels"],
        pod["metadata"]["annotations"],
        pod["spec"]["nodeSelector"],
        account["metadata"]["annotations"],
        verify["spec"]["nodeSelector"],
    ):
        assert all(isinstance(key, str) for key in where)
        assert where.items() >= labels.items()


@pytest.mark.parametrize("name", ["http_proxy", "NO_PROXY"])
def test_proxy_of_the_download(helm: Helm, name: str) -> None:
    source = {"claim": None, "huggingFace": {"id": "a/b", "revision": "0" * 40}}
    manifests = helm.template(model(source=source, engine={"env": {name: "x"}}))
    assert environment(manifests.container("fetch"))[name] == "x"


def test_the_users_default_container_wins(helm: Helm) -> None:
    key = "kubectl.kubernetes.io/default-container"
    assert helm.template().pod()["metadata"]["annotations"][key] == "vllm"
    text = helm.template(model(podAnnotations={key: "lmcache"})).text
    assert text.count(f"{key}") == 1
    assert helm.template(model(podAnnotations={key: "lmcache"})).pod()["metadata"]["annotations"][key] == "lmcache"


OWN: dict[str, tuple[Json, str]] = {
    "annotation": (
        {"podAnnotations": {"tiered-kv-cache.io/config-hash": "x"}},
        'podAnnotations: "tiered-kv-cache.io/config-hash"',
    ),
    "annotation of a later version": (
        {"podAnnotations": {"tiered-kv-cache.io/x": "x"}},
        'podAnnotations: "tiered-kv-cache.io/x"',
    ),
    "label": ({"podLabels": {"tiered-kv-cache.io/model": "x"}}, 'podLabels: "tiered-kv-cache.io/model"'),
    "label of the release": (
        {"podLabels": {"app.kubernetes.io/part-of": "x"}},
        'podLabels: "app.kubernetes.io/part-of"',
    ),
}


@pytest.mark.parametrize("case", OWN)
@pytest.mark.parametrize("scope", ["models.tiny", "defaults"])
def test_the_charts_own_keys_are_refused(helm: Helm, case: str, scope: str) -> None:
    changes, wanted = OWN[case]
    values = model(**changes) if scope == "models.tiny" else {"defaults": changes}
    helm.assert_refused(values, [f"{scope}.{wanted}", "chart's"])
