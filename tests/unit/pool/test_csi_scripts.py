"""The node plugin's two scripts, at real FUSE mounts in a mount namespace of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

FILES = Path(__file__).parents[3] / "charts/tiered-kv-cache/files"
# A mount whose process is gone, as a driver that ended leaves it. The kernel keeps the type with its subtype.
DEAD = """
dead() {{
    mkdir -p "$1"
    exec 7<>/dev/fuse
    mount -i -t fuse.curvinefs -o fd=7,rootmode=40000,user_id=0,group_id=0,allow_other curvinefs "$1"
    exec 7>&-
}}
K={kubelet}
POD=$K/pods/u1/volumes/kubernetes.io~csi/pvc-1/mount
is() {{ sh {files}/csi_mountpoint.sh -q "$1" && echo yes || echo no; }}
leave() {{ KUBELET=$K LOG={kubelet}/log LEAVE_SECONDS=$1 sh {files}/csi_leave.sh; }}
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it mounts")


def run(tmp: Path, script: str) -> list[str]:
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-ec", DEAD.format(kubelet=tmp, files=FILES) + script],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs_root
def test_a_dead_mount_is_a_mount(fuse: None, tmp_path: Path) -> None:
    found = run(
        tmp_path,
        'dead "$POD"; stat "$POD" 2>/dev/null && exit 9; is "$POD"; umount "$POD"; is "$POD"; is /proc; is "$K/pods"',
    )
    assert found == ["yes", "no", "yes", "no"]


@needs_root
def test_the_plugin_stays_until_no_pod_has_the_pool(fuse: None, tmp_path: Path) -> None:
    script = 'leave 1000 & dead "$POD"; leave 1000 & sleep 2.5; kill -0 $!; echo waits; umount "$POD"; wait; echo ended'
    assert run(tmp_path, script)[-2:] == ["waits", "ended"]
    assert "1 Pods of this node use the pool" in (tmp_path / "log").read_text()


@needs_root
def test_it_goes_after_a_while_and_never_waits_for_what_is_no_pods(fuse: None, tmp_path: Path) -> None:
    own = '"$K/plugins/kubernetes.io/csi/curvine/key/fuse-mount"'
    assert run(tmp_path, f'dead {own}; leave 1000; echo own; dead "$POD"; leave 2; echo late') == ["own", "late"]
