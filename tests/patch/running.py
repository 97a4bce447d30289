"""Pods that exist, and what people do to them: nothing of it is any mechanism's business."""

from __future__ import annotations

import copy
from collections.abc import Callable

from scheduling.api import Api

from .cases.model import Json
from .cases.shapes import MODEL, v32


def create(api: Api, namespace: str, name: str) -> None:
    """An operator-shaped Pod; patched or not is the API server's business."""
    pod = v32()
    pod["metadata"] = {"name": name, "labels": pod["metadata"]["labels"]}
    api.create(f"/api/v1/namespaces/{namespace}/pods", pod)


def relabel(api: Api, path: str) -> Json:
    """Out of the Deployment's hands, as for a look at a sick Pod."""
    return api.patch(path, {"metadata": {"labels": {"app": f"{MODEL}-sick", "looked-at": "yes"}}}, dryRun="All")


def label_as_worker(api: Api, path: str) -> Json:
    """With the labels of a worker, once more."""
    return api.patch(path, {"metadata": {"labels": v32()["metadata"]["labels"]}}, dryRun="All")


def debug(api: Api, path: str) -> Json:
    """`kubectl debug`."""
    container = {"name": "debugger", "image": "example.com/debug:1"}
    return api.patch(f"{path}/ephemeralcontainers", {"spec": {"ephemeralContainers": [container]}}, dryRun="All")


def resize(api: Api, path: str) -> Json:
    """More of a resource, in place."""
    containers = copy.deepcopy(api.get(path)["spec"]["containers"])
    worker = next(each for each in containers if each["name"] == MODEL)
    worker["resources"]["requests"]["cpu"] = "9"
    return api.patch(f"{path}/resize", {"spec": {"containers": containers}}, dryRun="All")


ACTS: dict[str, Callable[[Api, str], Json]] = {
    "relabel": relabel, "label-as-worker": label_as_worker, "debug": debug, "resize": resize,
}  # fmt: skip
