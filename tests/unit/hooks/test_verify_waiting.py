"""Why Pods do not become Ready: every reason is named, with the Pod, the value and the fix."""

from __future__ import annotations

from typing import Any

import pytest

from emulators.cluster import Json, not_ready

from .conftest import Release, findings

IMAGE = "localhost/tiered-kv-cache/engine-cpu:dev"
PULL = {"waiting": {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{IMAGE}"'}}
CRASH = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}


def ended(code: int, message: str = "", reason: str = "Error") -> Json:
    return {"lastState": {"terminated": {"exitCode": code, "reason": reason, "message": message}}, "restartCount": 3}


CASES: list[tuple[str, Json, Json, list[str]]] = [
    (
        "vllm",
        PULL,
        {},
        [f"Pod pod-b, container vllm: image {IMAGE} cannot be pulled (ImagePullBackOff)", "models.tiny.engine.image"],
    ),
    ("l2-root", PULL, {}, ["init container l2-root: image localhost/tiered-kv-cache/hooks:dev", "correct hooks.image"]),
    (
        "l2-root",
        CRASH,
        ended(1, "/mnt/kv-l2/x/config.json was written for other values: chunkSize: the volume has 256"),
        [
            "ended with exit code 1, 3 restarts: /mnt/kv-l2/x/config.json was written for other values",
            "what the message",
        ],
    ),
    (
        "lmcache",
        CRASH,
        ended(137, reason="OOMKilled"),
        ["container lmcache: OOMKilled (the LMCache server is down)", "models.tiny.resources.lmcache.limits.memory"],
    ),
    (
        "vllm",
        CRASH,
        ended(137, reason="OOMKilled"),
        ["container vllm: OOMKilled", "models.tiny.resources.engine.limits"],
    ),
    ("lmcache", CRASH, ended(2), ["ended with exit code 2 (the LMCache server is down), 3 restarts: usage: lmcache"]),
    ("lmcache", {"running": {}}, {}, ["container lmcache runs but is not ready: the LMCache server is down"]),
    (
        "fetch",
        {"running": {}},
        {},
        [
            "init container fetch still runs, and the engine starts after it",
            "hooks.verify.deadlineSeconds and modelStore.deadlineSeconds; kubectl logs -n kv pod-b -c fetch --tail=50",
        ],
    ),
    (
        "fetch",
        CRASH,
        ended(1, "huggingFace: 401 for org/model. Fix: give a token"),
        [
            "init container fetch: ended with exit code 1, 3 restarts: huggingFace: 401",
            "it is about models.tiny.source",
        ],
    ),
    ("fetch", PULL, {}, ["correct hooks.image"]),
    ("vllm", {"running": {}}, {}, ["container vllm runs but is not ready: vLLM's /health", "probes.startup.budget"]),
    (
        "vllm",
        {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}},
        {},
        ['CreateContainerConfigError: secret "x" not found', "create the Secret with that key, or correct apiKey"],
    ),
    (
        "vllm",
        {"waiting": {"reason": "CreateContainerConfigError", "message": "failed to create subPath directory"}},
        {},
        ["failed to create subPath directory", "correct models.tiny.source.claim.subPath"],
    ),
    (
        "vllm",
        {"waiting": {"reason": "ContainerCreating"}},
        {},
        ["Pod pod-b is not Ready: vllm waiting ContainerCreating"],
    ),
]


@pytest.mark.parametrize(("container", "state", "more", "parts"), CASES)
def test_reasons(release: Release, container: str, state: Json, more: Json, parts: list[str]) -> None:
    release.add("pod-a")
    not_ready(release.add("pod-b"), container, state, **more)
    release.cluster.logs["pod-b", "lmcache"] = "usage: lmcache server\n"
    found = findings(release.verify(deadline=0.3))
    assert found[0].startswith("model tiny: 1 of 2 Pods are Ready")
    assert len(found) == 2
    for part in parts:
        assert part in found[1]
    assert not any(e.requests for e in release.engines)


def test_hopeless_faults_do_not_wait_for_the_deadline(release: Release) -> None:
    release.add("pod-a")
    not_ready(release.add("pod-b"), "vllm", PULL)
    found = findings(release.verify(deadline=60))
    assert "deadline" not in found[0]


def test_a_container_that_runs_again_is_given_time(release: Release) -> None:
    release.add("pod-a")
    raw = not_ready(release.add("pod-b"), "vllm", {"running": {}}, **ended(1, "died once"))
    good = release.pod("pod-b")["status"]

    def on_list(number: int) -> None:
        if number == 12:  # well after the patience of 0.1 s
            raw["status"] = good

    release.cluster.on_list = on_list
    assert findings(release.verify()) == []


def test_progress_is_said_once_a_change(release: Release) -> None:
    release.add("pod-a")
    not_ready(release.add("pod-b"), "vllm", PULL)
    release.verify(deadline=60)
    assert release.said == ["tiny: 1 of 2 Pods ready (pod-b: ImagePullBackOff)"]


def unschedulable(release: Release, message: str) -> Json:
    raw = release.pod("pod-b", node="")
    raw["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}],
    }
    return raw


def test_unschedulable(release: Release) -> None:
    release.add("pod-a")
    release.cluster.all_pods.append(unschedulable(release, "0/3 nodes are available: 3 Insufficient memory."))
    found = findings(release.verify(deadline=0.1))
    assert "Pod pod-b cannot be scheduled (Unschedulable): 0/3 nodes are available: 3 Insufficient memory" in found[1]


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        (
            None,
            "waits for claim kv-l2 (volume l2), which does not exist. Fix: create PersistentVolumeClaim kv-l2 in namespace kv",
        ),
        ({"status": {"phase": "Pending"}}, "waits for claim kv-l2 (volume l2), which is Pending"),
    ],
)
def test_claims(release: Release, claim: Json | None, part: str) -> None:
    release.add("pod-a")
    release.cluster.all_pods.append(unschedulable(release, 'persistentvolumeclaim "kv-l2" not found'))
    del release.cluster.claims["kv-l2"]
    if claim:
        release.cluster.claims["kv-l2"] = claim
    assert any(part in f for f in findings(release.verify(deadline=0.1)))


def event(reason: str, message: str, kind: str = "Pod", name: str = "pod-b") -> Json:
    return {"type": "Warning", "reason": reason, "message": message, "involvedObject": {"kind": kind, "name": name}}


def test_events_tell_of_mounts_and_probes(release: Release) -> None:
    release.add("pod-a")
    not_ready(release.add("pod-b"), "lmcache", {"running": {}})
    release.cluster.all_events = [
        event("FailedMount", "old"),
        event("FailedMount", "MountVolume.SetUp failed: hostPath type check failed"),
        event("Unhealthy", "Readiness probe failed: connection refused"),
        event("Failed", "said by the status already"),
    ]
    found = findings(release.verify(deadline=0.1))
    assert "event FailedMount: MountVolume.SetUp failed: hostPath" in found[2]
    assert "check the volume and its claim" in found[2]
    assert "event Unhealthy: Readiness probe failed: connection refused" in found[3]
    assert len(found) == 4


def test_fewer_pods_than_replicas(release: Release) -> None:
    release.add("pod-a")
    evicted = release.pod("pod-b")
    evicted["status"] = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    release.cluster.all_pods.append(evicted)
    release.cluster.all_events = [event("FailedCreate", "exceeded quota: cpu", "ReplicaSet", "demo-tiny-engine-abc")]
    # Of another release whose name ends like this one.
    release.cluster.all_events.append(event("FailedCreate", "not ours", "ReplicaSet", "x-demo-tiny-engine-abc"))
    found = findings(release.verify(deadline=0.1))
    assert not any("not ours" in f for f in found)
    assert found[0].startswith("model tiny: 1 of 2 Pods are Ready when the deadline of 0.1 s passed (1 exist)")
    assert "Pods are not created: exceeded quota: cpu. Fix: raise the quota" in found[1]
    assert "Pod pod-b is Failed: The node was low on resource: memory" in found[2]


def test_no_pod_at_all(release: Release) -> None:
    found = findings(release.verify(deadline=0.1))
    assert found == [
        "model tiny: 0 of 2 Pods are Ready when the deadline of 0.1 s passed (0 exist). "
        "Fix: see why the Deployment makes none; kubectl describe -n kv deployment/demo-tiny-engine"
    ]


def test_pods_that_come_later(release: Release) -> None:
    release.add("pod-a")

    def on_list(number: int) -> None:
        if number == 4:
            release.add("pod-b")

    release.cluster.on_list = on_list
    assert findings(release.verify()) == []


def test_a_fault_in_a_later_pod_fails_at_once(release: Release) -> None:
    release.add("pod-a")
    late: dict[str, Any] = {"seed": "7"}

    def on_list(number: int) -> None:
        if number == 3:
            release.add("pod-b", **late)

    release.cluster.on_list = on_list
    found = findings(release.verify())
    assert "the hash seed (PYTHONHASHSEED) differs" in found[0]
    assert release.cluster.lists == 3
