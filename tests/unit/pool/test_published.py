"""Mounts that Pods see by the CSI driver: found in the kernel's table, named after their Pods, told to the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import generate_latest

from faultfs.daemon import FaultFs
from tiered_kv_cache import names
from tiered_kv_cache.pool import published
from tiered_kv_cache.pool.reporter import Reporter
from tiered_kv_cache.pool.watch import Watch

from .server import PoolServer, api

LINE = "{number} 30 0:51 /pvc-1 {point} rw,nosuid shared:9 - {kind} {source} rw,user_id=0\n"
CSI = "/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/{volume}/mount"


def place(uid: str, volume: str = "pvc-1") -> str:
    return CSI.format(uid=uid, volume=volume)


def table(tmp: Path, *points: str, kind: str = "fuse.curvinefs", source: str = "/dev/fuse") -> Path:
    file = tmp / "mountinfo"
    lines = [LINE.format(number=n, point=point, kind=kind, source=source) for n, point in enumerate(points, 40)]
    file.write_text("".join(lines))
    return file


def logs(tmp: Path) -> str:
    for name in ("kv_engine-1_u1", "cards_engine-2_u2", "kv_no-uid"):
        (tmp / "logs" / name).mkdir(parents=True, exist_ok=True)
    return str(tmp / "logs")


def find(tmp: Path, mountinfo: Path) -> dict[str, str]:
    return published.find("/var/lib/kubelet", logs(tmp), mountinfo)


def test_each_pods_mount_has_its_name(tmp_path: Path) -> None:
    mountinfo = table(tmp_path, place("u1"), place("u2"), place("u3"))
    assert find(tmp_path, mountinfo) == {
        "kv/engine-1": place("u1"), "cards/engine-2": place("u2"), "Pod u3": place("u3"),
    }  # fmt: skip
    assert published.find("/var/lib/kubelet", str(tmp_path / "none"), mountinfo).keys() == {
        "Pod u1",
        "Pod u2",
        "Pod u3",
    }


def test_two_volumes_of_a_pod_and_two_mounts_at_one_place(tmp_path: Path) -> None:
    mountinfo = table(tmp_path, place("u1"), place("u1"), place("u1", "pvc-2"))
    assert find(tmp_path, mountinfo) == {"kv/engine-1": place("u1"), "kv/engine-1 (pvc-2)": place("u1", "pvc-2")}


@pytest.mark.parametrize(
    ("kind", "source", "ours"), [("fuse", "curvinefs", True), ("fuse.other", "x", False), ("ext4", "/dev/a", False)]
)
def test_other_drivers_mounts_are_not_ours(tmp_path: Path, kind: str, source: str, ours: bool) -> None:
    assert bool(find(tmp_path, table(tmp_path, place("u1"), kind=kind, source=source))) is ours


@pytest.mark.parametrize(
    "point",
    [
        "/var/lib/kubelet/plugins/kubernetes.io/csi/curvine/key/fuse-mount",
        place("u1") + "/below",
        "/x" + place("u1"),
        "/",
    ],
)
def test_other_places_are_no_pods(tmp_path: Path, point: str) -> None:
    assert find(tmp_path, table(tmp_path, point)) == {}


def test_a_dead_mount_says_which_pod_must_restart_and_is_forgotten_with_it(
    fuse: None, server: PoolServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = tmp_path / "pods" / "u1" / "volumes" / "kubernetes.io~csi" / "pvc-1"
    volume.mkdir(parents=True)
    server.objects["pods", "node-x7"] = {"metadata": {"name": "node-x7", "resourceVersion": "1"}}
    said: list[str] = []
    reporter = Reporter(api(server), "kv", "node-x7", said.append, published.advice)

    def annotation() -> str:
        assert reporter.send()
        text: str = server.objects["pods", "node-x7"]["metadata"]["annotations"][names.ANNOTATION_POOL_MOUNT]
        return text

    with FaultFs(volume) as mounted:
        (kind,) = [
            line.split(" - ")[1].split()[0]
            for line in Path("/proc/self/mountinfo").read_text().splitlines()
            if str(volume) in line
        ]
        monkeypatch.setattr(published, "KINDS", (kind,))
        watch = Watch(lambda: published.find(str(tmp_path), logs(tmp_path)), 30, 1, reporter, "pod")
        watch.round()
        assert watch.board.problem() == ""
        assert 'pool_mount_up{pod="kv/engine-1"} 1.0' in generate_latest(watch.metrics.registry).decode()
        mounted.kill()
        watch.round()
        assert 'pool_mount_up{pod="kv/engine-1"} 0.0' in generate_latest(watch.metrics.registry).decode()
        assert annotation().startswith("kv/engine-1: dead (ENOTCONN) since")
        (event,) = server.events
        assert event["reason"] == "PoolMountDead"
        assert event["message"].endswith("somebody restarts it: kubectl delete pod -n kv engine-1")
    watch.round()
    assert watch.board.problem() == ""
    assert "engine-1" not in generate_latest(watch.metrics.registry).decode()
    assert annotation() == "no Pod of this node uses the pool"
    watch.close()
