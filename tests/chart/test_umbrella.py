"""The chart as a dependency of another one: under aliases, several times in one release, with what umbrella charts hold."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
import yaml

from chart.helm import CHART, MINIMAL, Helm, Json, Manifests, Refused

INSTANCE = "app.kubernetes.io/instance"
MANY: Json = {
    **MINIMAL,
    "gateway": {"enabled": True, "replicas": 2},
    "l2": {"volume": {"type": "hostPath", "claimName": "", "hostPath": {"path": "/srv/kv"}}},
    "defaults": {"routing": {"strategy": "kvaware", "replicas": 2}, "engine": {"blockSize": 256}},
}
"""One of every kind of object."""


def umbrella(folder: Path, helm: Helm, dependencies: list[Json], values: Json) -> Path:
    """A chart with these dependencies (the repository is filled in) and values, ready to be installed."""
    chart = folder / "umbrella"
    chart.mkdir()
    found = [
        {"name": "tiered-kv-cache", "version": ">=0-0", "repository": f"file://{CHART}", **d} for d in dependencies
    ]
    (chart / "Chart.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v2", "name": "umbrella", "version": "1.0.0", "dependencies": found})
    )
    (chart / "values.yaml").write_text(yaml.safe_dump(values))
    homes = {"HELM_CACHE_HOME": str(folder / "cache"), "HELM_CONFIG_HOME": str(folder / "config")}
    command = [helm.path, "dependency", "build", "--skip-refresh", str(chart)]
    done = subprocess.run(command, env=homes, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return chart


def render(helm: Helm, chart: Path, *options: str, release: str = "demo") -> Manifests:
    command = [helm.path, "template", release, str(chart), "-n", "ns", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stderr)
    return Manifests(done.stdout)


ALIASES = [{"alias": "kva"}, {"alias": "kvB_2"}]
PAIRS: dict[str, tuple[list[Json], Json, tuple[str, str]]] = {
    "aliases": (ALIASES, {"kva": MANY, "kvB_2": {**MANY, "lineOfBusiness": "bank"}}, ("demo-kva", "demo-kvb-2")),
    "aliases with names": (
        ALIASES,
        {
            "kva": {**MANY, "nameOverride": "aa"},
            "kvB_2": {**MANY, "lineOfBusiness": "bank", "nameOverride": "bb"},
        },
        ("aa", "bb"),
    ),
    "one alias": ([{}, {"alias": "kvb"}], {"tiered-kv-cache": MANY, "kvb": MANY}, ("demo", "demo-kvb")),
    "one alias named as the other's default": (
        ALIASES,
        {"kva": MANY, "kvB_2": {**MANY, "nameOverride": "kva"}},
        ("demo-kva", "kva"),
    ),
    "long names": (
        ALIASES,
        {"kva": {**MANY, "nameOverride": "a" * 48}, "kvB_2": {**MANY, "nameOverride": "a" * 47}},
        ("a" * 48, "a" * 47),
    ),
}


def _identity(found: Json) -> tuple[str, str, str]:
    return found["apiVersion"], found["kind"], found["metadata"]["name"]


def _selectors(found: Json) -> list[Json]:
    """Every set of labels by which an object finds Pods."""
    spec = found.get("spec", {})
    kind = found["kind"]
    if kind == "Service":
        return [spec["selector"]]
    if kind == "Deployment":
        routers = [c["args"] for c in spec["template"]["spec"]["containers"] if c["name"] == "router"]
        told = [args[args.index("--selector") + 1 :] for args in routers]
        spread = [c["labelSelector"] for c in spec["template"]["spec"].get("topologySpreadConstraints", [])]
        return [
            spec["selector"]["matchLabels"],
            *(each["matchLabels"] for each in spread),
            *(dict(pair.split("=", 1) for pair in each) for each in told),
        ]
    if kind == "PodDisruptionBudget":
        return [spec["selector"]["matchLabels"]]
    if kind == "NetworkPolicy":
        peers = [peer["podSelector"] for rule in spec["ingress"] for peer in rule.get("from", [])]
        return [each["matchLabels"] for each in (spec["podSelector"], *peers)]
    return []


def _pod_labels(objects: list[Json]) -> list[Json]:
    pods = [found["metadata"] for found in objects if found["kind"] == "Pod"]
    pods += [found["spec"]["template"]["metadata"] for found in objects if found["kind"] in ("Deployment", "Job")]
    return [each["labels"] for each in pods]


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize("binary", ["helm", "helm_other"])
def test_two_of_one_release_never_touch(request: pytest.FixtureRequest, tmp_path: Path, case: str, binary: str) -> None:
    helm: Helm = request.getfixturevalue(binary)
    dependencies, values, prefixes = PAIRS[case]
    release = "r" * 53 if case == "long names" else "demo"
    manifests = render(helm, umbrella(tmp_path, helm, dependencies, values), release=release)
    identities = [_identity(found) for found in manifests.objects]
    assert len(set(identities)) == len(identities)
    accounts = {found["metadata"]["name"] for found in manifests.of("ServiceAccount")}
    parts = ("engine", "router", "verify", "storage", "keeper", "preflight")
    assert accounts == {f"{prefix}-{part}" for prefix in prefixes for part in parts}
    halves: dict[str, list[Json]] = {}
    for found in manifests.objects:
        halves.setdefault(found["metadata"]["labels"][INSTANCE], []).append(found)
    assert len(halves) == 2
    for (one, objects), (other, others) in product(halves.items(), repeat=2):
        assert len(one) <= 63
        chosen = [selector for found in objects for selector in _selectors(found)]
        assert len(chosen) >= 20
        for selector in chosen:
            matched = [labels for labels in _pod_labels(others) if selector.items() <= labels.items()]
            assert bool(matched) == (one == other), selector


@pytest.mark.parametrize("binary", ["helm", "helm_other"])
def test_verify_finds_the_pods_of_its_own_half(request: pytest.FixtureRequest, tmp_path: Path, binary: str) -> None:
    """It selects by app.kubernetes.io/instance=<--release>; hooks/tiered_kv_cache/verify/waiting.py."""
    helm: Helm = request.getfixturevalue(binary)
    manifests = render(helm, umbrella(tmp_path, helm, ALIASES, {"kva": MANY, "kvB_2": MANY}))
    for prefix in ("demo-kva", "demo-kvb-2"):
        args = manifests.get("Pod", f"{prefix}-verify")["spec"]["containers"][0]["args"]
        engine = manifests.get("Deployment", f"{prefix}-tiny-engine")["spec"]["template"]["metadata"]["labels"]
        assert args[args.index("--release") + 1] == engine[INSTANCE] == f"demo_{prefix}"


def test_a_plain_release_and_a_single_dependency_keep_names_and_labels(helm: Helm, tmp_path: Path) -> None:
    single = render(helm, umbrella(tmp_path, helm, [{}], {"tiered-kv-cache": MANY}))
    alone = helm.template(MANY, namespace="ns")
    assert sorted(map(_identity, single.objects)) == sorted(map(_identity, alone.objects))
    for found in (*single.objects, *helm.template(MANY, {"nameOverride": "kv"}).objects):
        assert found["metadata"]["labels"][INSTANCE] == "demo"


# What umbrella charts hold beside the keys of this one


@pytest.mark.parametrize("binary", ["helm", "helm_other"])
@pytest.mark.parametrize("enabled", [True, False])
def test_the_condition_of_a_dependency(
    request: pytest.FixtureRequest, tmp_path: Path, binary: str, enabled: bool
) -> None:
    helm: Helm = request.getfixturevalue(binary)
    dependency = {"alias": "kva", "condition": "kva.enabled"}
    values = {
        "kva": {**MANY, "enabled": enabled, "x-sizes": {"small": 1}},
        "global": {"imageRegistry": "r.io", "imagePullSecrets": ["a"], "storage": {"class": "fast"}},
    }
    manifests = render(helm, umbrella(tmp_path, helm, [dependency], values))
    assert len(manifests.of("Deployment")) == (4 if enabled else 0)
    assert bool(manifests.objects) is enabled


@pytest.mark.parametrize("more", [{}, {"lineOfBusiness": "", "l2": None, "networkPolicy": None, "hooks": None}])
def test_a_plain_release_that_is_not_enabled_is_empty(helm: Helm, more: Json) -> None:
    assert helm.template(MANY, more, {"enabled": False}).objects == []
    assert helm.template(MANY, {"enabled": None}).objects == helm.template(MANY).objects


def test_anchors(helm: Helm, helm_other: Helm, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(
        "x-engine: &engine {maxNumSeqs: 8}\nx-list: [1, null]\nx-text: a\nx-number: 1.5\nx-no: false\nx-null: null\n"
        "lineOfBusiness: retail\nl2: {volume: {claimName: kv}}\n"
        "models: {tiny: {source: {claim: {name: m}}, engine: {<<: *engine}}}\n"
    )
    for each in (helm, helm_other):
        args = each.template(files=(file,)).container("vllm")["args"]
        assert args[args.index("--max-num-seqs") + 1] == "8"


@pytest.mark.parametrize("typo", ["enable", "Enabled", "globals", "x_engine", "model", "lineofbusiness", "X-engine"])
def test_typos_beside_them_are_refused(helm: Helm, typo: str) -> None:
    assert typo in helm.refusal({typo: {}})


def test_enabled_is_a_boolean(helm: Helm) -> None:
    assert "enabled" in helm.refusal({"enabled": "no"})


def test_each_named_template_is_defined_once() -> None:
    """Of two with one name Helm takes the one that it happens to read last, and says nothing."""
    files = [path for end in ("tpl", "yaml", "txt") for path in CHART.rglob(f"templates/**/*.{end}")]
    names = [name for path in files for name in re.findall(r'define "([^"]+)"', path.read_text())]
    assert len(names) > 100
    assert sorted(name for name, count in Counter(names).items() if count > 1) == []
