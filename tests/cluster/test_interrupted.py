"""A helm that was killed in the middle leaves its release pending; the next run clears it and goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from local_cluster.helm import CHART, Helm
from local_cluster.host import gotools

from .api import Api, wait_for
from .conftest import VALUES


def test_killed_install_does_not_stop_the_next_one(helm: Helm, api: Api, image_values: list[Path]) -> None:
    broken = Helm(helm.kubeconfig, helm.namespace, "interrupted", [VALUES, *image_values])
    files = [word for path in broken.values for word in ("-f", str(path))]
    command = [str(gotools.ensure_cli("helm")), "--kubeconfig", str(helm.kubeconfig), "-n", helm.namespace]
    running = subprocess.Popen([*command, "install", broken.release, str(CHART), "--wait", *files])
    try:
        wait_for("the install under way", lambda: broken.state() == "pending-install", 60)
    finally:
        running.kill()
        running.wait()
    refused = broken.upgrade(wait_s=0)
    assert not refused.ok
    assert "in progress" in refused.text, (
        "helm takes up pending releases by itself now; recover() is not needed any more"
    )
    assert broken.recover() == "pending-install"
    assert broken.state() == ""
    wait_for("its Pods gone", lambda: not api.engine_pods(helm.namespace, broken.release), 120)
