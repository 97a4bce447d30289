"""A volume that claims ReadWriteMany but is another directory on each node: only a run can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cluster.helm import Helm

from .api import Api
from .conftest import VALUES
from .test_storage_check import SELECTOR

# Every node has a /tmp of its own.
LOCAL = ("--set", "l2.volume.hostPath.path=/tmp")


@pytest.fixture(scope="module")
def broken(helm: Helm, image_values: list[Path]) -> Iterator[Helm]:
    helm.uninstall()
    made = Helm(helm.kubeconfig, helm.namespace, "unshared", [VALUES, *image_values])
    yield made
    made.uninstall()


def test_the_install_fails_and_says_why(broken: Helm, api: Api) -> None:
    done = broken.upgrade(*LOCAL, wait_s=600)
    assert not done.ok
    assert "unshared-storage" in done.text, done.text
    selector = SELECTOR.format(broken.release)
    pods = api.core.list_namespaced_pod(broken.namespace, label_selector=selector).items
    ended = [pod.status.container_statuses[0].state.terminated for pod in pods]
    assert any(state and "FAIL: not shared" in state.message for state in ended), ended


def test_helm_test_says_it_too(broken: Helm) -> None:
    installed = broken.upgrade(*LOCAL, "--set", "hooks.storageCheck.enabled=false", wait_s=600)
    assert installed.ok, installed.text
    done = broken.test()
    assert not done.ok
    assert "not shared" in done.text, done.text
