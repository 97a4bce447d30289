"""Faults that the Pod specs show: they fail at once, and name both Pods and both values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulators.cluster import FakeCluster, pod

from .conftest import Release, findings, only

DIFFERENT: list[tuple[dict[str, Any], str]] = [
    (
        {"seed": "1"},
        "the hash seed (PYTHONHASHSEED) differs: container vllm of Pod pod-a, container lmcache of Pod pod-a have 0; "
        "container vllm of Pod pod-b, container lmcache of Pod pod-b have 1",
    ),
    ({"lmcache_seed": "1"}, "container lmcache of Pod pod-b has 1"),
    (
        {"config_hash": "ffff"},
        "the configuration (tiered-kv-cache.io/config-hash) differs: Pod pod-a has c0ffee; Pod pod-b has ffff; "
        "expected c0ffee",
    ),
    ({"claim": "other"}, "the claim of volume l2 differs: Pod pod-a has kv-l2; Pod pod-b has other"),
    (
        {"chunk_size": "512"},
        "the chunk size (tiered-kv-cache.io/chunk-size) differs: Pod pod-a has 256; Pod pod-b has 512",
    ),
    (
        {"image": "engine:new"},
        "the image of container vllm differs: Pod pod-a has localhost/tiered-kv-cache/engine-cpu:dev; "
        "Pod pod-b has engine:new",
    ),
    (
        {"base_path": "/elsewhere"},
        "the LMCache server of Pod pod-b stores below /elsewhere, but the Pod's L2 root is ",
    ),
    (
        {"report": "ready"},
        "l2-root of Pod pod-b left no JSON with root and fingerprint as its termination message",
    ),
    ({"report": {"root": "/mnt/x"}}, "l2-root of Pod pod-b left no JSON"),
    ({"seed": None}, "PYTHONHASHSEED is not set in container vllm of Pod pod-b, container lmcache of Pod pod-b"),
]


@pytest.mark.parametrize(("change", "part"), DIFFERENT, ids=[next(iter(c)) for c, _ in DIFFERENT])
def test_differs(release: Release, change: dict[str, Any], part: str) -> None:
    release.add("pod-a")
    release.add("pod-b", **change)
    result = release.verify()
    found = findings(result)
    assert any(part in f for f in found), found
    assert all("model tiny" in f and ". Fix: " in f for f in found)
    assert release.cluster.lists == 1, "nothing is waited for"
    assert not any(e.requests for e in release.engines)


def other_root(release: Release, config: dict[str, Any] | None, **report: str) -> Path:
    """Pod pod-b with another root than pod-a; ``config``: what both config.json say, that of pod-b with its changes."""
    root = release.root.with_name("ffffffffffffffff")
    release.add("pod-a")
    release.add(
        "pod-b", report={"root": str(root), "fingerprint": root.name, "weights": "w2", "model": "tiny"} | report
    )
    if config is not None:
        root.mkdir(parents=True, exist_ok=True)
        common = {"dtype": "float32", "weights": "w1", "engineEnv": {"A": "1"}, "blockSize": 128}
        (release.root / "config.json").write_text(json.dumps(common))
        (root / "config.json").write_text(json.dumps(common | config))
    return root


def test_root_differs_by_what_config_json_says(release: Release) -> None:
    root = other_root(release, {"weights": "w2", "engineEnv": {"A": "1", "B": "x"}, "blockSize": "128"})
    text = only(release.verify())
    assert f"the L2 root differs, so that no Pod finds what another one stored: Pod pod-a has {release.root}; " in text
    assert f"Pod pod-b has {root}; their config.json differ in " in text
    assert 'blockSize: 128 and "128"; engineEnv.B: nothing and "x"; weights: "w1" and "w2"' in text
    assert "kubectl rollout restart -n kv deployment/demo-tiny-engine" in text
    assert release.cluster.lists == 1, "nothing is waited for"


def test_root_differs_where_the_volume_cannot_be_read(release: Release) -> None:
    other_root(release, None)
    assert "they differ in weights: w1 and w2" in only(release.verify())


def test_root_differs_and_nothing_says_why(release: Release) -> None:
    other_root(release, None, weights="w1")
    assert "config.json of both cannot be read here" in only(release.verify())


def test_many_differing_keys_are_counted(release: Release) -> None:
    other_root(release, {f"key{i}": i for i in range(9)})
    text = only(release.verify())
    assert "key5: nothing and 5; and 3 more" in text
    assert "key6" not in text


def test_root_of_another_release(pair: Release) -> None:
    text = only(pair.verify(pair.model(l2_parent="/mnt/kv-l2/v1/demo/ti")))
    assert f"the L2 root of Pod pod-a, Pod pod-b is {pair.root}, not below /mnt/kv-l2/v1/demo/ti" in text


def test_a_pod_whose_root_is_not_known_yet_is_waited_for(release: Release) -> None:
    release.add("pod-a")
    raw = release.add("pod-b", report=None)
    raw["status"]["conditions"] = [{"type": "Ready", "status": "False"}]

    def on_list(number: int) -> None:
        if number == 3:
            raw["status"] = release.pod("pod-b")["status"]

    release.cluster.on_list = on_list
    assert findings(release.verify()) == []
    assert release.cluster.lists >= 3


def test_all_pods_agree_but_not_with_the_release(pair: Release) -> None:
    text = only(pair.verify(pair.model(config_hash="ffff")))
    assert "of Pod pod-a, Pod pod-b is c0ffee, expected ffff" in text


def test_all_faults_at_once_and_of_all_models(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", seed="1", config_hash="ffff", claim="other")
    assert len(findings(release.verify())) == 3


def test_a_fault_of_one_model_does_not_hide_another(pair: Release) -> None:
    pair.cluster.all_pods.append(pod("pod-c", seed="1", lmcache_seed="2", of_model="broken"))
    result = pair.verify(pair.model(name="broken", replicas=1, l2_parent="/mnt/kv-l2/v1/demo/tiny"), pair.model())
    assert "model broken: the hash seed" in only(result)
    assert [r.verdict for r in result.models[1].rows] == ["pass"] * 5


def test_seeds_and_roots_do_not_matter_without_l2(release: Release) -> None:
    release.add("pod-a", l2=False)
    release.add("pod-b", seed="1", config_hash="ffff", l2=False, report=None)
    assert findings(release.verify(release.model(l2=False))) == []


def test_no_volume_at_all(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        raw = release.add(name)
        raw["spec"]["volumes"] = []
    assert "volume l2 of Pod pod-a, Pod pod-b is no PersistentVolumeClaim" in only(release.verify())


def test_no_lmcache_container(release: Release) -> None:
    release.add("pod-a")
    raw = release.add("pod-b")
    raw["spec"]["containers"].pop()
    assert "Pod pod-b has no container lmcache" in only(release.verify())


def test_a_rollout_that_goes_on_is_waited_for(release: Release) -> None:
    old = release.add("pod-a", config_hash="old", revision="aaa")
    release.add("pod-b", revision="bbb")
    old["status"]["conditions"] = [{"type": "Ready", "status": "False"}]

    def on_list(number: int) -> None:
        if number == 3:
            release.cluster.all_pods.remove(old)
            release.add("pod-c", revision="bbb")

    release.cluster.on_list = on_list
    assert findings(release.verify()) == []


def test_a_rollout_that_never_ends(release: Release) -> None:
    old = release.add("pod-a", config_hash="old", revision="aaa")
    release.add("pod-b", revision="bbb")
    old["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    found = findings(release.verify(deadline=0.2))
    assert "1 of 2 Pods are Ready when the deadline of 0.2 s passed" in found[0]
    assert "a rollout is not finished: Pods of ReplicaSets aaa, bbb run side by side" in found[1]
    assert "the configuration" in found[2]


def test_pods_that_end_do_not_count(pair: Release) -> None:
    leaving, evicted = pod("pod-x", config_hash="old"), pod("pod-y", config_hash="old")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    evicted["status"] = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}
    pair.cluster.all_pods += [leaving, evicted]
    assert findings(pair.verify()) == []


def test_fake_cluster_selects_by_all_labels() -> None:
    cluster = FakeCluster([pod("pod-a"), pod("pod-b", of_model="other")])
    names = [
        p["metadata"]["name"]
        for p in cluster.pods("kv", "tiered-kv-cache.io/model=tiny,app.kubernetes.io/instance=demo")
    ]
    assert names == ["pod-a"]
