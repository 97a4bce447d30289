"""Where LMCache reads and writes blocks in a Pod."""

from __future__ import annotations

from .. import names as shared
from . import containers, names
from .outcome import Json, Refused
from .parameters import Parameters


def base_path(spec: Json, worker: Json, parameters: Parameters, model: str) -> str:
    """The base path without a trailing slash. Raises Refused."""
    if containers.named(spec.get("initContainers"), names.INIT_ROOT):
        return shared.L2_LINK
    root = parameters.get(model, "root")
    key = f"{parameters.namespace}.{model}.root"
    if not root:
        raise Refused(
            f"the Pod has no init container {names.INIT_ROOT}, and the parameter object no key {key}",
            "let this chart render the InferenceEndpointConfig, or give the model's root and image to the release",
        )
    mount_path = parameters.need("mountPath")
    if not root.startswith(f"{mount_path}/") or root == f"{mount_path}/" or ".." in root:
        raise Refused(f"{key} {root!r} is not below the mount path {mount_path}", "give a path below it, without '..'")
    image = parameters.get(model, "image")
    if worker.get("image", "") != image:
        raise Refused(
            f"container {worker['name']} runs image {worker.get('image', '')!r}, and {key} is for image {image!r}",
            "give the root of this image to the release: another engine's blocks would not fit",
        )
    return root
