"""Faults that the Pod specs show: they fail at once, and name both Pods and both values."""

from __future__ import annotations

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
        {"fingerprint": "ffff"},
        "the fingerprint (tiered-kv-cache.io/fingerprint) differs: Pod pod-a has 0123456789abcdef; Pod pod-b has ffff; "
        "expected 0123456789abcdef",
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
        "the LMCache server of Pod pod-b stores below /elsewhere, but the Pod's annotation tiered-kv-cache.io/l2-root is ",
    ),
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


def test_root_differs(release: Release) -> None:
    release.add("pod-a")
    other = pod("pod-b", root="/mnt/kv-l2/v1/demo/tiny/ffff")
    release.cluster.all_pods.append(other)
    text = only(release.verify())
    assert (
        f"the L2 root (tiered-kv-cache.io/l2-root) differs: Pod pod-a has {release.root}; Pod pod-b has /mnt/kv-l2"
        in text
    )


def test_all_pods_agree_but_not_with_the_release(pair: Release) -> None:
    text = only(pair.verify(pair.model(fingerprint="ffff")))
    assert "of Pod pod-a, Pod pod-b is 0123456789abcdef, expected ffff" in text


def test_all_faults_at_once_and_of_all_models(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", seed="1", fingerprint="ffff", claim="other")
    assert len(findings(release.verify())) == 3


def test_another_model_is_not_measured_but_says_why(pair: Release) -> None:
    pair.cluster.all_pods.append(labelled(pod("pod-c", seed="1", lmcache_seed="2"), "broken"))
    result = pair.verify(
        pair.model(), pair.model(name="broken", replicas=1, l2_root="/mnt/kv-l2/v1/demo/tiny/0123456789abcdef")
    )
    assert result.models[0].notes == ["not measured, since the Pod specs of another model are at fault"]
    assert result.models[0].rows == []
    assert "model broken: the hash seed" in only(result)


def test_seeds_and_roots_do_not_matter_without_l2(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", seed="1", fingerprint="ffff")
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
    old = release.add("pod-a", fingerprint="old", revision="aaa")
    release.add("pod-b", revision="bbb")
    old["status"]["conditions"] = [{"type": "Ready", "status": "False"}]

    def on_list(number: int) -> None:
        if number == 3:
            release.cluster.all_pods.remove(old)
            release.add("pod-c", revision="bbb")

    release.cluster.on_list = on_list
    assert findings(release.verify()) == []


def test_a_rollout_that_never_ends(release: Release) -> None:
    old = release.add("pod-a", fingerprint="old", revision="aaa")
    release.add("pod-b", revision="bbb")
    old["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    found = findings(release.verify(deadline=0.2))
    assert "1 of 2 Pods are Ready when the deadline of 0.2 s passed" in found[0]
    assert "a rollout is not finished: Pods of ReplicaSets aaa, bbb run side by side" in found[1]
    assert "the fingerprint" in found[2]


def test_pods_that_end_do_not_count(pair: Release) -> None:
    leaving, evicted = pod("pod-x", fingerprint="old"), pod("pod-y", fingerprint="old")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    evicted["status"] = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}
    pair.cluster.all_pods += [leaving, evicted]
    assert findings(pair.verify()) == []


def labelled(raw: dict[str, Any], model: str) -> dict[str, Any]:
    raw["metadata"]["labels"] = raw["metadata"]["labels"] | {"tiered-kv-cache.io/model": model}
    return raw


def test_fake_cluster_selects_by_all_labels() -> None:
    cluster = FakeCluster([pod("pod-a"), labelled(pod("pod-b"), "other")])
    names = [
        p["metadata"]["name"]
        for p in cluster.pods("kv", "tiered-kv-cache.io/model=tiny,app.kubernetes.io/instance=demo")
    ]
    assert names == ["pod-a"]
