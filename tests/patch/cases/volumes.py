"""Volumes and mounts, and what clashes with them."""

from __future__ import annotations

from .model import BASE, Case, Json, Patched, Refused
from .parts import MOUNT, RUN, VOLUME, in_process, multi_process
from .shapes import MODEL, spec, v32, v37

_VOLUMES = v32()["spec"]["volumes"]
_MOUNTS = v32()["spec"]["containers"][0]["volumeMounts"]


def _mounted(*mounts: Json) -> Json:
    return v32(volumeMounts=[*_MOUNTS, *mounts])


def _with_volume(pod: Json, volume: Json = VOLUME) -> Json:
    return spec(pod, volumes=[volume])


NO_RUN = v32()
NO_RUN["spec"]["volumes"] = [each for each in _VOLUMES if each["name"] != "tkc-run"]
for _init in NO_RUN["spec"]["initContainers"]:
    _init["volumeMounts"] = []
OTHER: Json = {"name": "tkc-l2", "persistentVolumeClaim": {"claimName": "another"}}
READ_ONLY: Json = {"name": "tkc-l2", "persistentVolumeClaim": {"claimName": "kv-l2", "readOnly": True}}

CASES = [
    Case("volume-there", _with_volume(v32()), Patched(in_process())),
    Case("mount-there", _with_volume(_mounted(MOUNT)), Patched(in_process())),
    Case(
        "mount-there-with-slash",
        _with_volume(_mounted({**MOUNT, "mountPath": "/mnt/kv-l2/"})),
        Patched(in_process(mounts=[*_MOUNTS, {**MOUNT, "mountPath": "/mnt/kv-l2/"}, RUN])),
    ),
    Case(
        "mounts-in-other-order", _with_volume(_mounted(RUN, MOUNT)), Patched(in_process(mounts=[*_MOUNTS, RUN, MOUNT]))
    ),
    Case(
        "run-mounted-writable",
        _mounted({"name": "tkc-run", "mountPath": "/run/tkc"}),
        Patched(in_process(mounts=[*_MOUNTS, {"name": "tkc-run", "mountPath": "/run/tkc"}, MOUNT])),
    ),
    Case(
        "propagation",
        v32(),
        Patched(in_process(mounts=[*_MOUNTS, {**MOUNT, "mountPropagation": "HostToContainer"}, RUN])),
        {**BASE, "propagation": "HostToContainer"},
    ),
    Case("no-run-volume", NO_RUN, Refused(("tkc-l2-root", "tkc-run"))),
    Case("volume-other-claim", _with_volume(v32(), OTHER), Refused(("tkc-l2", "claim another", "kv-l2"))),
    Case("volume-other-kind", _with_volume(v32(), {"name": "tkc-l2", "emptyDir": {}}), Refused(("tkc-l2", "emptyDir"))),
    Case("volume-read-only", _with_volume(v32(), READ_ONLY), Refused(("tkc-l2", "read-only"))),
    Case(
        "other-volume-at-mount-path",
        _mounted({"name": "host-shm", "mountPath": "/mnt/kv-l2"}),
        Refused((MODEL, "host-shm", "/mnt/kv-l2")),
    ),
    Case(
        "other-volume-at-mount-path-with-slash",
        _mounted({"name": "host-shm", "mountPath": "/mnt/kv-l2/"}),
        Refused((MODEL, "host-shm", "/mnt/kv-l2")),
    ),
    Case(
        "other-volume-at-run",
        _mounted({"name": "host-shm", "mountPath": "/run/tkc"}),
        Refused((MODEL, "host-shm", "/run/tkc")),
    ),
    Case(
        "other-volume-in-the-sidecar",
        v37(volumeMounts=[{"name": "host-shm", "mountPath": "/mnt/kv-l2"}]),
        Patched(multi_process()),
    ),
    Case(
        "mount-with-sub-path", _with_volume(_mounted({**MOUNT, "subPath": "a"})), Refused((MODEL, "tkc-l2", "subPath"))
    ),
    Case(
        "mount-with-sub-path-expression",
        _with_volume(_mounted({**MOUNT, "subPathExpr": "$(POD_NAME)", "mountPath": "/elsewhere"})),
        Refused((MODEL, "tkc-l2", "subPath")),
    ),
    Case(
        "mount-read-only", _with_volume(_mounted({**MOUNT, "readOnly": True})), Refused((MODEL, "tkc-l2", "read-only"))
    ),
    Case(
        "run-with-sub-path",
        _mounted({"name": "tkc-run", "mountPath": "/run/tkc", "subPath": "a"}),
        Refused((MODEL, "tkc-run", "subPath")),
    ),
]
