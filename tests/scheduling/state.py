"""The engine Pods and their Deployments as the API server's events tell, so that nothing between two looks is missed."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from .api import Json
from .nodes import GPU

Model = tuple[str, str]
"""Namespace and model."""

COMPONENT = "app.kubernetes.io/component"


def model_of(metadata: Json) -> Model:
    """Whose engine an object belongs to."""
    return metadata["namespace"], metadata["labels"]["tiered-kv-cache.io/model"]


def ready(pod: Json) -> bool:
    """Whether a Pod serves: Ready and not being deleted."""
    conditions = pod.get("status", {}).get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )


def gpus(pod: Json) -> int:
    """GPUs that a Pod holds or waits for."""
    return sum(int(each["resources"].get("limits", {}).get(GPU, 0)) for each in pod["spec"]["containers"])


def complete(deployment: Json) -> bool:
    """Whether a rollout is over: all Pods are of the newest version and Ready, and no other is left."""
    status, want = deployment.get("status", {}), deployment["spec"]["replicas"]
    numbers = [status.get(name, 0) for name in ("updatedReplicas", "availableReplicas", "replicas")]
    return status.get("observedGeneration", 0) >= deployment["metadata"]["generation"] and numbers == [want] * 3


@dataclass
class State:
    """What is there now; `pod` and `deployment` are for `api.Watch`.

    Args:
        namespaces: those whose engines count.
    """

    namespaces: list[str]
    pods: dict[str, Json] = field(default_factory=dict)
    """By uid."""
    deployments: dict[Model, Json] = field(default_factory=dict)
    fewest: dict[Model, int] = field(default_factory=dict)
    """Fewest Ready Pods of each model since `mark`."""
    _ready: dict[Model, set[str]] = field(default_factory=lambda: defaultdict(set))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def pod(self, event: str, pod: Json) -> None:
        """Take in one event of a Pod."""
        if not self._counts(pod["metadata"]):
            return
        model, uid = model_of(pod["metadata"]), pod["metadata"]["uid"]
        with self._lock:
            if event == "DELETED":
                self.pods.pop(uid, None)
            else:
                self.pods[uid] = pod
            if event != "DELETED" and ready(pod):
                self._ready[model].add(uid)
            else:
                self._ready[model].discard(uid)
            if model in self.fewest:
                self.fewest[model] = min(self.fewest[model], len(self._ready[model]))

    def deployment(self, event: str, deployment: Json) -> None:
        """Take in one event of a Deployment."""
        if not self._counts(deployment["metadata"]):
            return
        model = model_of(deployment["metadata"])
        with self._lock:
            if event == "DELETED":
                self.deployments.pop(model, None)
            else:
                self.deployments[model] = deployment

    def _counts(self, metadata: Json) -> bool:
        return metadata["namespace"] in self.namespaces and metadata.get("labels", {}).get(COMPONENT) == "engine"

    def mark(self) -> None:
        """From now on, remember the fewest Ready Pods of each model."""
        with self._lock:
            self.fewest = {model: len(self._ready[model]) for model in self.deployments}

    def of(self, model: Model) -> list[Json]:
        """Pods of a model."""
        with self._lock:
            return [pod for pod in self.pods.values() if model_of(pod["metadata"]) == model]

    def free_gpus(self, total: int) -> int:
        """GPUs that no Pod holds."""
        with self._lock:
            return total - sum(gpus(pod) for pod in self.pods.values() if pod["spec"].get("nodeName"))

    def unfinished(self) -> list[Model]:
        """Models whose rollout is not over."""
        with self._lock:
            return [model for model, deployment in self.deployments.items() if not complete(deployment)]

    def wait(self, what: str, done: Callable[[], bool], timeout_s: float) -> None:
        """Poll five times a second.

        Raises:
            AssertionError: not within `timeout_s` seconds; names the models that are not done and Pods without a node.
        """
        deadline = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > deadline:
                with self._lock:
                    waiting = [pod["metadata"]["name"] for pod in self.pods.values() if not pod["spec"].get("nodeName")]
                raise AssertionError(
                    f"{what}: not within {timeout_s:.0f} s\nrolling: {self.unfinished()[:10]}\nno node: {waiting[:10]}"
                )
            time.sleep(0.2)

    def wait_rolled_out(self, what: str, timeout_s: float = 300.0) -> None:
        """Wait until all rollouts are over, at a standstill of the nodes' GPUs."""
        self.wait(what, lambda: not self.unfinished(), timeout_s)
