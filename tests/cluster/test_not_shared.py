"""A volume that claims ReadWriteMany but is another directory on each node: only a run can tell."""

from __future__ import annotations

from pathlib import Path

from local_cluster.helm import Helm

from .conftest import VALUES


def test_volume_is_not_shared(helm: Helm, image_values: list[Path]) -> None:
    helm.uninstall()
    broken = Helm(helm.kubeconfig, helm.namespace, "unshared", [VALUES, *image_values])
    try:
        # Every node has a /tmp of its own.
        installed = broken.upgrade("--set", "l2.volume.hostPath.path=/tmp", wait_s=600)
        assert installed.ok, installed.text
        done = broken.test()
    finally:
        broken.uninstall()
    assert not done.ok
    assert "not shared" in done.text, done.text
