"""Mounts of the pool that Pods of this node see by Curvine's CSI driver, and whose they are. Nothing here asks a mount."""

from __future__ import annotations

import contextlib
from pathlib import Path

from . import mounts
from .board import Change
from .prober import DEAD

KINDS = ("fuse.curvinefs", "curvinefs")
"""The filesystem's type as kernels show it: type and subtype, or the source alone."""


def find(kubelet: str, pod_logs: str, mountinfo: Path = mounts.MOUNTINFO) -> dict[str, str]:
    """Path by "<namespace>/<Pod>" of each, or by "Pod <uid>" where ``pod_logs`` does not say whose it is."""
    found: dict[str, str] = {}
    names = _pods(pod_logs)
    for mount in mounts.every(mountinfo):
        match Path(mount.point).relative_to(kubelet).parts if mount.point.startswith(f"{kubelet}/") else ():
            case ("pods", uid, "volumes", "kubernetes.io~csi", volume, "mount") if set(KINDS) & {
                mount.kind,
                mount.source,
            }:
                name = names.get(uid, f"Pod {uid}")
                if found.get(name, mount.point) != mount.point:
                    name = f"{name} ({volume})"
                found[name] = mount.point
            case _:
                pass
    return found


def advice(change: Change) -> str:
    """What to do about a change, behind its text; empty if nothing."""
    namespace, _, pod = change.now.name.partition(" ")[0].partition("/")
    if change.now.state != DEAD or not pod:
        return ""
    return f". It stays so in this Pod until somebody restarts it: kubectl delete pod -n {namespace} {pod}"


def _pods(pod_logs: str) -> dict[str, str]:
    """Names by uid: the kubelet calls each Pod's directory <namespace>_<name>_<uid>."""
    names = {}
    with contextlib.suppress(OSError):
        for directory in Path(pod_logs).iterdir():
            namespace, _, rest = directory.name.partition("_")
            pod, _, uid = rest.rpartition("_")
            names[uid] = f"{namespace}/{pod}"
    return names
