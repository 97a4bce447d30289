"""The claim, and where the container that LMCache runs in mounts it."""

from __future__ import annotations

from . import containers, names
from .outcome import Json, Refused


def add_claim(spec: Json, claim: str) -> None:
    """Add the volume of L2 if it is absent. Raises Refused where something else has its name."""
    found = containers.named(spec.get("volumes"), names.VOLUME_L2)
    if not found:
        volume = {"name": names.VOLUME_L2, "persistentVolumeClaim": {"claimName": claim}}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]
        return
    source = found.get("persistentVolumeClaim") or {}
    if source.get("claimName") != claim or source.get("readOnly"):
        seen = (
            f"claim {source['claimName']}{' (read-only)' if source.get('readOnly') else ''}"
            if source
            else ", ".join(sorted(key for key in found if key != "name"))
        )
        raise Refused(
            f"volume {names.VOLUME_L2} is {seen}, not claim {claim}", "rename that volume, or give this claim to it"
        )


def need_run(spec: Json, why: str) -> None:
    """Raises Refused where the volume that an init container leaves its results in is missing."""
    if not containers.named(spec.get("volumes"), names.VOLUME_RUN):
        raise Refused(
            f"the Pod has init container {why} and no volume {names.VOLUME_RUN}",
            "let this chart render the InferenceEndpointConfig, which has both",
        )


def mount_claim(container: Json, path: str, propagation: str) -> None:
    """Mount L2 if it is not mounted there. Raises Refused."""
    _mount(container, names.VOLUME_L2, path, {"mountPropagation": propagation} if propagation else {})


def mount_run(container: Json) -> None:
    """Mount what the init containers made if it is not mounted there. Raises Refused."""
    _mount(container, names.VOLUME_RUN, names.RUN_PATH, {"readOnly": True})


def _mount(container: Json, volume: str, path: str, options: Json) -> None:
    there = container.get("volumeMounts") or []
    for mount in there:
        at = mount["mountPath"]
        if at in (path, f"{path}/") and mount["name"] != volume:
            raise Refused(
                f"container {container['name']} has volume {mount['name']} at {path}, where {volume} belongs",
                "mount that volume somewhere else",
            )
        if mount["name"] != volume:
            continue
        read_only = mount.get("readOnly") and not options.get("readOnly")
        if mount.get("subPath") or mount.get("subPathExpr") or read_only:
            raise Refused(
                f"container {container['name']} mounts {volume} at {at} with a subPath or read-only",
                f"take that mount out: the patch mounts {volume} itself",
            )
    if not any(mount["name"] == volume and mount["mountPath"] in (path, f"{path}/") for mount in there):
        container["volumeMounts"] = [*there, {"name": volume, "mountPath": path, **options}]
