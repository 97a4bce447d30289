"""A Kubernetes cluster as the hooks see it: plain objects in lists, and Pod objects like the API server's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
LABELS = {
    "app.kubernetes.io/instance": "demo",
    "app.kubernetes.io/component": "engine",
    "tiered-kv-cache.io/model": "tiny",
}


class FakeCluster:
    """A hooks Cluster. ``on_list`` runs before each list of Pods, with its number, so that tests can change things."""

    def __init__(self, pods: list[Json]) -> None:
        self.all_pods = pods
        self.all_events: list[Json] = []
        self.claims: dict[str, Json] = {"kv-l2": {"status": {"phase": "Bound"}}}
        self.logs: dict[tuple[str, str], str] = {}
        self.on_list: Callable[[int], None] = lambda number: None
        self.lists = 0
        self.adopted: list[tuple[str, str]] = []

    def pods(self, namespace: str, selector: str) -> list[Json]:
        """Pods with all labels of the selector."""
        self.lists += 1
        self.on_list(self.lists)
        wanted = dict(part.split("=", 1) for part in selector.split(","))
        return [
            p
            for p in self.all_pods
            if p["metadata"]["namespace"] == namespace and wanted.items() <= p["metadata"]["labels"].items()
        ]

    def events(self, namespace: str, field_selector: str) -> list[Json]:
        """Events whose involvedObject and reason match."""
        wanted = dict(part.split("=", 1) for part in field_selector.split(","))

        def matches(event: Json) -> bool:
            flat = {f"involvedObject.{k}": v for k, v in event["involvedObject"].items()} | {"reason": event["reason"]}
            return wanted.items() <= flat.items()

        return [e for e in self.all_events if matches(e)]

    def claim(self, namespace: str, name: str) -> Json | None:
        """A claim by name."""
        return self.claims.get(name)

    def adopt(self, namespace: str, pod: str) -> None:
        """Remembers which Pod got an owner."""
        self.adopted.append((namespace, pod))

    def log(self, namespace: str, pod: str, container: str, previous: bool = False, lines: int = 5) -> str:
        """A prepared log."""
        return self.logs.get((pod, container), "")


def pod(name: str, node: str = "node-1", **change: Any) -> Json:
    """A Ready engine Pod of model tiny in release demo. ``change``: see the keywords below.

    ``report``: what l2-root left as its termination message, a text or an object; None while it has not ended.
    """
    seed, ports = change.get("seed", "0"), change.get("ports", (8000, 8180))
    root = change.get("root", "/mnt/kv-l2/v1/demo/tiny/0123456789abcdef")
    env = [{"name": "PYTHONHASHSEED", "value": seed}] if seed is not None else []
    lmcache_seed = change.get("lmcache_seed", seed)
    report = change.get(
        "report", {"root": root, "fingerprint": root.rpartition("/")[2], "weights": "w1", "model": "tiny"}
    )
    ended = {"exitCode": 0, "message": report if isinstance(report, str) else json.dumps(report)}
    model, in_process = change.get("of_model", "tiny"), change.get("in_process", False)
    adapter = '{"type":"fs","base_path":"$(L2_ROOT)","relative_tmp_dir":".tmp-$(POD_NAME)"}'
    return {
        "metadata": {
            "name": name,
            "namespace": "kv",
            "labels": LABELS
            | {
                "app.kubernetes.io/instance": change.get("release", "demo"),
                "tiered-kv-cache.io/model": model,
                "pod-template-hash": change.get("revision", "aaa"),
            },
            "annotations": {
                "tiered-kv-cache.io/config-hash": change.get("config_hash", "c0ffee"),
                "tiered-kv-cache.io/chunk-size": change.get("chunk_size", "256"),
            },
        },
        "spec": {
            "nodeName": node,
            "initContainers": [{"name": "l2-root", "image": "localhost/tiered-kv-cache/hooks:dev"}],
            "containers": [
                {
                    "name": "vllm",
                    "image": change.get("image", "localhost/tiered-kv-cache/engine-cpu:dev"),
                    "env": env,
                    "ports": [{"name": "http", "containerPort": ports[0]}],
                },
                {
                    "name": "lmcache",
                    "image": change.get("image", "localhost/tiered-kv-cache/engine-cpu:dev"),
                    "env": [
                        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "L2_ROOT", "value": change.get("base_path", "/run/tkc/l2")},
                    ]
                    + ([{"name": "PYTHONHASHSEED", "value": lmcache_seed}] if lmcache_seed is not None else []),
                    "args": ["server", "--chunk-size", "256", "--l2-adapter", adapter],
                    "ports": [{"name": "lmcache-http", "containerPort": ports[1]}],
                },
            ][: 1 if in_process else 2],
            "volumes": [
                {"name": "l2", "persistentVolumeClaim": {"claimName": change.get("claim", "kv-l2")}},
                {"name": "tmp", "emptyDir": {}},
            ],
        },
        "status": {
            "phase": "Running",
            "podIP": "127.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}],
            "initContainerStatuses": [
                {"name": "l2-root", "ready": True, "restartCount": 0, "state": {"terminated": ended}},
            ][: 0 if report is None else 1],
            "containerStatuses": [
                {"name": "vllm", "ready": True, "restartCount": 0, "state": {"running": {}}},
                {"name": "lmcache", "ready": True, "restartCount": 0, "state": {"running": {}}},
            ],
        },
    }


def not_ready(raw: Json, container: str, state: Json, **more: Any) -> Json:
    """The same Pod, not Ready, with one container in ``state``; ``more`` goes into its status."""
    raw["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    status = {"name": container, "ready": False, "restartCount": 0, "state": state} | more
    if container in ("fetch", "l2-root"):
        raw["status"]["initContainerStatuses"] = [status]
        raw["status"]["containerStatuses"] = []
    else:
        others = [s for s in raw["status"]["containerStatuses"] if s["name"] != container]
        raw["status"]["containerStatuses"] = [*others, status]
    return raw
