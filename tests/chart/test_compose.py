"""platform.yaml and the files of the lines of business that join its pool fit together."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import yaml

from chart.cases import VALUES_FILES, on_hyperpod
from chart.helm import REPO, Helm, Json, Manifests
from tiered_kv_cache.keeper.units import size

PLATFORM_FILE = REPO / "values" / "platform.yaml"
PLATFORM: Json = yaml.safe_load(PLATFORM_FILE.read_text())
RELEASE, NAMESPACE = "platform", "kv-platform"
"""As its first lines say."""


def _values(file: Path) -> Json:
    found: Json = yaml.safe_load(file.read_text())
    return found


LINES = {file.stem: file for file in VALUES_FILES if _values(file).get("curvine", {}).get("pool", {}).get("release")}
"""Files that join a pool, by the name that is release and namespace."""


def platform(helm: Helm) -> Manifests:
    return helm.template(files=(PLATFORM_FILE,), release=RELEASE, namespace=NAMESPACE)


def line(helm: Helm, name: str) -> Manifests:
    return helm.template(files=(LINES[name],), release=name, namespace=name)


@cache
def names() -> frozenset[str]:
    return frozenset(_values(file)["lineOfBusiness"] for file in LINES.values())


def test_there_are_some_and_each_is_called_by_its_name() -> None:
    assert len(LINES) >= 3
    assert names() == set(LINES)


def test_the_lists_of_the_platform_name_them_and_nobody_else() -> None:
    assert set(PLATFORM["curvine"]["linesOfBusiness"]) == names()
    assert set(PLATFORM["x-quotas"]) == names()
    assert set(PLATFORM["inferenceOperator"]["l2Patch"]["namespaces"]) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_the_pool_is_where_they_look_for_it(helm: Helm, name: str) -> None:
    (check,) = [each for each in line(helm, name).of("Job") if each["metadata"]["name"].endswith("-preflight")]
    (told,) = [
        json.loads(each["value"])
        for each in check["spec"]["template"]["spec"]["containers"][0]["env"]
        if each["name"] == "TKC_PREFLIGHT"
    ]
    there = {
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in platform(helm).objects
    }
    parts = {(each["kind"], each["namespace"], each["name"]) for each in told["parts"]}
    assert {kind for kind, *_ in parts} == {"StatefulSet", "DaemonSet"}
    assert parts <= there
    masters = platform(helm).get("StatefulSet", "platform-curvine-master")["spec"]["replicas"]
    assert _values(LINES[name])["curvine"]["pool"]["masters"] == masters


@pytest.mark.parametrize("name", LINES)
def test_its_directory_is_one_that_the_mounts_make(helm: Helm, name: str) -> None:
    mount = platform(helm).get("DaemonSet", "platform-curvine-client")["spec"]["template"]["spec"]
    (tenants,) = [each["value"] for each in mount["containers"][0]["env"] if each["name"] == "POOL_LINES"]
    (base,) = [each["hostPath"]["path"] for each in mount["volumes"] if each["name"] == "pool"]
    (volume,) = line(helm, name).of("PersistentVolume")
    assert volume["spec"]["hostPath"]["path"] in {f"{base}/{each}" for each in tenants.split()}
    assert volume["spec"]["hostPath"]["path"].endswith(f"/{name}")


@pytest.mark.parametrize("name", LINES)
def test_what_the_keeper_enforces_was_agreed(helm: Helm, name: str) -> None:
    agreed = size(PLATFORM["x-quotas"][name])
    (told,) = [
        json.loads(each["data"]["config.json"])
        for each in line(helm, name).of("ConfigMap")
        if each["metadata"]["labels"]["app.kubernetes.io/component"] == "keeper"
    ]
    assert {each: size(of["quota"]) for each, of in told["linesOfBusiness"].items()} == {name: agreed}


def test_all_quotas_together_leave_room_in_the_pool() -> None:
    """A block of each worker stays free, since a worker with less counts as full."""
    disk = size(PLATFORM["curvine"]["workers"]["disk"]["size"])
    block = size("64Mi")
    quotas = [size(each) for each in PLATFORM["x-quotas"].values()]
    assert disk
    assert block
    assert sum(each for each in quotas if each) <= PLATFORM["x-nodes"] * (disk - block)


@pytest.mark.parametrize("name", LINES)
def test_the_platform_patches_its_endpoints_with_its_own_volume(helm: Helm, name: str) -> None:
    allowance = PLATFORM["inferenceOperator"]["l2Patch"]["namespaces"][name]
    manifests = line(helm, name)
    claim = manifests.of("PersistentVolumeClaim")[0]["metadata"]["name"]
    assert (allowance["claimName"], allowance["propagation"]) == (claim, "HostToContainer")
    engine = manifests.pod()["spec"]
    (mount,) = {
        (each["mountPath"], each.get("mountPropagation"))
        for container in engine["containers"]
        for each in container["volumeMounts"]
        if each["name"] == "l2"
    }
    assert mount == (allowance["mountPath"], "HostToContainer")
    (seed,) = {each["value"] for each in engine["containers"][0]["env"] if each["name"] == "PYTHONHASHSEED"}
    assert seed == str(allowance["hashSeed"])


@pytest.mark.parametrize("platform_of", ["kubernetes", "hyperpod"])
@pytest.mark.parametrize("name", LINES)
def test_a_line_of_business_makes_nothing_outside_its_namespace_that_others_meet(
    helm: Helm, name: str, platform_of: str
) -> None:
    """Only what carries its own name: a static volume, and preflight's right to read."""
    values = _values(LINES[name]) if platform_of == "kubernetes" else on_hyperpod(name, _values(LINES[name]))
    given = json.dumps(values)
    objects = helm.run("-f", "-", release=name, namespace=name, given=given).objects
    outside = [each for each in objects if each["metadata"].get("namespace") != name]
    assert {each["kind"] for each in outside} <= {"PersistentVolume", "ClusterRole", "ClusterRoleBinding"}
    assert all(each["metadata"]["name"].startswith(f"{name}.{name}-") for each in outside)
    others = {(each["kind"], each["metadata"]["name"]) for each in platform(helm).objects if each not in objects}
    assert not {(each["kind"], each["metadata"]["name"]) for each in outside} & others


def test_a_new_line_of_business_is_one_more_name(helm: Helm) -> None:
    """Nothing of the others' parts of the platform's release changes but lists of names, and nothing is removed."""
    before = platform(helm)
    after = helm.template(
        files=(PLATFORM_FILE,), release=RELEASE, namespace=NAMESPACE,
        extra=("--set", "curvine.linesOfBusiness={assistant,documents,batch,fourth}"),
    )  # fmt: skip
    keys = [{(each["kind"], each["metadata"]["name"]) for each in of.objects} for of in (before, after)]
    assert keys[0] == keys[1]
    changed = [
        each["metadata"]["name"] for each, other in zip(before.objects, after.objects, strict=True) if each != other
    ]
    # The mounts, and who may be told of a mount. Masters and workers go on.
    assert "platform-curvine-client" in changed
    assert not {"platform-curvine-master", "platform-curvine-worker"} & set(changed)
