"""What the API server says of the check's other Pod: without it nobody could tell a volume that is not shared from a Pod that
does not run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from ..cluster import Cluster, ClusterError, JsonObject
from ..findings import shorten
from ..pods import Pod

LABEL_JOB = "batch.kubernetes.io/job-name"
ANNOTATION_INDEX = "batch.kubernetes.io/job-completion-index"
UNKNOWN, ABSENT, RUNNING, ENDED, FAILED = "unknown", "absent", "running", "ended", "failed"
LOOK_SECONDS = 2.0
"""Between two questions."""


@dataclass(frozen=True)
class Peer:
    """``why``: of one that does not run, for people. ``seconds``: how long it has been seen running."""

    state: str
    name: str = ""
    node: str = ""
    why: str = ""
    seconds: float = 0.0


class Peers(Protocol):
    """Who can say how the other Pod is."""

    def look(self) -> Peer:
        """The other Pod now; never raises."""
        ...


class Nobody:
    """Outside a cluster."""

    def look(self) -> Peer:
        """Unknown, always."""
        return Peer(UNKNOWN, why="no API server to ask")


class JobPods:
    """The Pods of an Indexed Job."""

    def __init__(self, cluster: Cluster, namespace: str, job: str, index: int) -> None:
        self._cluster, self._namespace, self._job, self._index = cluster, namespace, job, index
        self._seen = Peer(UNKNOWN, why="not asked yet")
        self._asked = -LOOK_SECONDS
        self._running_since: float | None = None

    def look(self) -> Peer:
        """See Peers."""
        now = time.monotonic()
        if now - self._asked >= LOOK_SECONDS:
            self._asked = now
            self._seen = self._ask()
            if self._seen.state != RUNNING:
                self._running_since = None
            elif self._running_since is None:
                self._running_since = now
        if self._running_since is None:
            return self._seen
        peer = self._seen
        return Peer(peer.state, peer.name, peer.node, peer.why, now - self._running_since)

    def _ask(self) -> Peer:
        try:
            found = self._cluster.pods(self._namespace, f"{LABEL_JOB}={self._job}")
        except ClusterError as err:
            return Peer(UNKNOWN, why=shorten(str(err), 200))
        mine = [raw for raw in found if _index(raw) == str(self._index)]
        if not mine:
            return Peer(ABSENT, why="it was not made yet")
        newest = max(mine, key=lambda raw: str((raw.get("metadata") or {}).get("creationTimestamp") or ""))
        return _peer(Pod.parse(newest))


def _index(raw: JsonObject) -> str:
    return str(((raw.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION_INDEX) or "")


def _peer(pod: Pod) -> Peer:
    if pod.phase == "Succeeded":
        return Peer(ENDED, pod.name, pod.node)
    if pod.phase == "Failed":
        return Peer(FAILED, pod.name, pod.node, shorten(_message(pod), 300) or "it left no message")
    if pod.phase == "Running":
        return Peer(RUNNING, pod.name, pod.node)
    return Peer(ABSENT, pod.name, pod.node, _waits(pod))


def _message(pod: Pod) -> str:
    for status in pod.status.get("containerStatuses") or []:
        ended = (status.get("state") or {}).get("terminated") or {}
        if ended:
            return str(ended.get("message") or ended.get("reason") or "")
    return str(pod.status.get("message") or pod.status.get("reason") or "")


def _waits(pod: Pod) -> str:
    scheduled = pod.condition("PodScheduled")
    if scheduled.get("status") == "False":
        return shorten(f"{scheduled.get('reason', 'Unschedulable')}: {scheduled.get('message', '')}", 200)
    for status in pod.status.get("containerStatuses") or []:
        waiting = (status.get("state") or {}).get("waiting") or {}
        if waiting:
            return shorten(f"{waiting.get('reason', '')}: {waiting.get('message', '')}".rstrip(": "), 200)
    return f"it is {pod.phase or 'not started'}"
