"""Each values file with models renders at test size, and then asks for nothing that the local cluster has not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from chart.cases import VALUES_FILES
from chart.helm import Helm, Manifests, flag
from chart.pools import pods
from cluster.lob import files as lob
from cluster.scaling import scaled
from tiered_kv_cache.preflight.amounts import of_api

FILES = [file for file in VALUES_FILES if yaml.safe_load(file.read_text()).get("models")]
MOST_MEMORY = 8 << 30
"""Requests of a release in bytes: two engines and what is beside them fit on the machine that runs the tests."""
FOREIGN = ("ScaledObject", "InferenceEndpointConfig", "PodMonitor", "PrometheusRule")


def small(helm: Helm, file: Path, folder: Path) -> Manifests:
    overlay = folder / "scale.json"
    overlay.write_text(json.dumps(scaled(file)))
    return helm.template(files=(file, overlay), release=file.stem, namespace=file.stem)


def test_there_are_some() -> None:
    assert len(FILES) >= 6


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_it_fits_the_local_cluster(helm: Helm, tmp_path: Path, file: Path) -> None:
    manifests = small(helm, file, tmp_path)
    models = yaml.safe_load(file.read_text())["models"]
    engines = [
        each
        for each in manifests.of("Deployment")
        if each["metadata"]["labels"]["app.kubernetes.io/component"] == "engine"
    ]
    assert len(engines) == len(models)
    assert not [each["kind"] for each in manifests.objects if each["kind"] in FOREIGN]
    memory = 0
    for each in engines:
        template = each["spec"]["template"]
        pod = template["spec"]
        assert not {"nodeSelector", "affinity", "tolerations", "priorityClassName"} & pod.keys()
        assert not [name for name in template["metadata"]["annotations"] if "linkerd" in name]
        assert each["spec"]["replicas"] == 2
        memory += int(of_api(template)[0]["memory"]) * 2
        claims = {
            volume["persistentVolumeClaim"]["claimName"]
            for volume in pod["volumes"]
            if "persistentVolumeClaim" in volume
        }
        assert claims == {"models", f"{file.stem}-l2"}
        assert {c["image"] for c in pod["containers"]} == {"localhost/tiered-kv-cache/engine-cpu:dev"}
    assert memory <= MOST_MEMORY * len(models)
    (volume,) = manifests.of("PersistentVolume")
    assert volume["spec"]["hostPath"]["path"] == "/mnt/tkc-shared/l2"
    asked = {name for pod in pods(manifests).values() for name in of_api({"spec": pod})[1]}
    assert asked == {"cpu", "memory"}
    assert "secretKeyRef" not in manifests.text


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_what_makes_it_different_stays(helm: Helm, tmp_path: Path, file: Path) -> None:
    values = yaml.safe_load(file.read_text())
    manifests = small(helm, file, tmp_path)
    assert f'tiered-kv-cache.io/line-of-business: "{values["lineOfBusiness"]}"' in manifests.text
    gateways = [each for each in manifests.of("Deployment") if each["metadata"]["name"].endswith("-gateway")]
    assert bool(gateways) == values.get("gateway", {}).get("enabled", False)
    strategies = {
        model.get("routing", {}).get("strategy")
        or values.get("defaults", {}).get("routing", {}).get("strategy", "roundrobin")
        for model in values["models"].values()
    }
    policies = {"roundrobin": "round_robin", "session": "sticky_least_loaded", "prefixaware": "cache_aware"}
    arguments = [
        each["spec"]["template"]["spec"]["containers"][0]["args"]
        for each in manifests.of("Deployment")
        if each["metadata"]["labels"]["app.kubernetes.io/component"] == "router"
    ]
    assert {flag(each, "--policy") for each in arguments} == {policies[each] for each in strategies}


def test_a_file_without_models_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text("lineOfBusiness: retail\n")
    with pytest.raises(ValueError, match="has no model"):
        scaled(file)


def test_lines_of_business_and_the_platform_stand_beside_each_other(helm: Helm, tmp_path: Path) -> None:
    """As tests/cluster/lob installs them: each in its own part of the volume, with a keeper and one engine of the given image."""
    seen = set()
    for name in (*lob.FILES, lob.FOURTH):
        overlay = tmp_path / f"{name}.json"
        overlay.write_text(json.dumps(lob.line_values(name, "built")))
        manifests = helm.template(files=(lob.FILES.get(name, lob.FOURTH_FILE), overlay), release=name, namespace=name)
        (volume,) = manifests.of("PersistentVolume")
        seen.add(volume["spec"]["hostPath"]["path"])
        assert {each["spec"]["replicas"] for each in manifests.of("Deployment")} == {1}
        assert manifests.get("Deployment", f"{name}-keeper")
        assert "engine-cpu:built" in manifests.text
        assert "engine-cpu:dev" not in manifests.text
    assert len(seen) == len(lob.FILES) + 1
    overlay = tmp_path / "platform.json"
    overlay.write_text(json.dumps(lob.platform_values(lob.FOURTH)))
    platform = helm.template(
        files=(lob.VALUES / "platform.yaml", overlay), release="platform", namespace=lob.PLATFORM,
        extra=("--kube-version", "1.36.0"),
    )  # fmt: skip
    allowed = platform.get("ConfigMap", "platform-l2-patch")["data"]
    assert allowed[f"{lob.FOURTH}.claim"] == f"{lob.FOURTH}-l2"
