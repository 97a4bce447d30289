"""What KWOK does in place of kubelets: nodes are ready at once, Pods take a time to start and a time to end."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

START_MS = (300, 900)
"""Least and most time from a Pod's binding to Ready."""

END_MS = (300, 900)
"""Least and most time from a Pod's deletion until it is gone. It keeps its GPUs as long, as under a real kubelet."""


def _stage(name: str, kind: str, when: list[Json], then: Json, delay_ms: tuple[int, int] | None = None) -> Json:
    spec: Json = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": when},
        "next": then,
    }
    if delay_ms:
        spec["delay"] = {"durationMilliseconds": delay_ms[0], "jitterDurationMilliseconds": delay_ms[1]}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _conditions(*types: str) -> str:
    return "".join(
        f'- {{type: {each}, status: "True", reason: KWOK, lastTransitionTime: {{{{ Now | Quote }}}}}}\n'
        for each in types
    )


_DELETED = ".metadata.deletionTimestamp"
_READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'

_POD_READY = (
    "phase: Running\n"
    "startTime: {{ Now | Quote }}\n"
    "podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}\n"
    "conditions:\n" + _conditions("Initialized", "Ready", "ContainersReady") + "containerStatuses:\n"
    "{{ range .spec.containers }}\n"
    "- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, started: true, restartCount: 0,"
    " state: {running: {startedAt: {{ Now | Quote }}}}}\n"
    "{{ end }}\n"
)

STAGES: list[Json] = [
    _stage(
        "node-ready",
        "Node",
        [{"key": _READY, "operator": "NotIn", "values": ["True"]}],
        {"statusTemplate": "phase: Running\nconditions:\n" + _conditions("Ready")},
    ),
    _stage(
        "pod-ready",
        "Pod",
        [
            {"key": _DELETED, "operator": "DoesNotExist"},
            {"key": ".status.phase", "operator": "In", "values": ["Pending"]},
        ],
        {"statusTemplate": _POD_READY},
        START_MS,
    ),
    _stage("pod-gone", "Pod", [{"key": _DELETED, "operator": "Exists"}], {"delete": True}, END_MS),
]
