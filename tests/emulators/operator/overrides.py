"""What a test's machines need and no operator would say: engines on CPUs, Pods without an engine. Given as a JSON file:

    {"worker":    {"transfer": {...}, "env": {...}, "appendArgs": [...], "mounts": [...], "merge": {...}},
     "server":    the same without transfer; proxy and collector as well,
     "router":    {"args": [...], "merge": {...}},
     "pod":       {"volumes": [...], "dropVolumes": [...], "merge": {...}}}

transfer: members of kv_connector_extra_config. env: name -> value, in place or at the end. mounts: more volumeMounts, or others at
the same path. merge: a JSON merge patch (RFC 7386) of the container, or of the Pod's spec. volumes: in place or at the end.
dropVolumes: names, with their mounts.
"""

from __future__ import annotations

import copy
from typing import Any

from .containers import COLLECTOR, PROXY, SERVER
from .options import Json

KEYS = {"worker", "server", "proxy", "collector", "router", "pod"}


def check(overrides: Json) -> Json:
    """The same.

    Raises:
        ValueError: an unknown key at the top, which would do nothing.
    """
    if unknown := overrides.keys() - KEYS:
        raise ValueError(f"unknown keys {sorted(unknown)}; there are {', '.join(sorted(KEYS))}")
    return overrides


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def _in_place(items: list[Json], key: str, more: list[Json]) -> list[Json]:
    """Those of `more` in the place of items with the same key, else at the end."""
    found = {each[key]: each for each in more}
    return [found.pop(each[key], each) for each in items] + list(found.values())


def override_container(container: Json, change: Json) -> Json:
    """The container with its part of the file. `appendArgs` of the server stands in its command line already."""
    changed = copy.deepcopy(container)
    if env := change.get("env"):
        added = [{"name": name, "value": value} for name, value in env.items()]
        changed["env"] = _in_place(changed.get("env", []), "name", added)
    if change.get("appendArgs") and container["name"] != SERVER:
        changed["args"] = [*changed.get("args", []), *change["appendArgs"]]
    if mounts := change.get("mounts"):
        changed["volumeMounts"] = _in_place(changed.get("volumeMounts", []), "mountPath", copy.deepcopy(mounts))
    return dict(merge_patch(changed, change.get("merge", {})))


def override_pod(spec: Json, worker: str, overrides: Json) -> Json:
    """The Pod's spec with all of the file.

    Args:
        worker: name of the worker's container.
    """
    parts = {worker: "worker", SERVER: "server", PROXY: "proxy", COLLECTOR: "collector"}
    changed = copy.deepcopy(spec)
    for key in ("containers", "initContainers"):
        if key in changed:
            changed[key] = [
                override_container(each, overrides.get(parts.get(each["name"], ""), {})) for each in changed[key]
            ]
    pod = overrides.get("pod", {})
    dropped = set(pod.get("dropVolumes", []))
    changed["volumes"] = [each for each in changed["volumes"] if each["name"] not in dropped]
    changed["volumes"] = _in_place(changed["volumes"], "name", copy.deepcopy(pod.get("volumes", [])))
    for container in [*changed["containers"], *changed.get("initContainers", [])]:
        if dropped and "volumeMounts" in container:
            container["volumeMounts"] = [each for each in container["volumeMounts"] if each["name"] not in dropped]
    return dict(merge_patch(changed, pod.get("merge", {})))
