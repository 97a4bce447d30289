"""One `helm install` on clean disks: a pool, a bound claim, and blocks that one engine's Pod stores and another one's reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from local_cluster.helm import Helm

from ..api import Api
from .conftest import Install, Release
from .hits import cross_pod_hit, mount_at, on_disks
from .names import RELEASE


def test_install_to_cross_pod_hit(
    new_pool: Install, api: Api, namespace: str, workers: list[str], nodes: Callable[..., str]
) -> None:
    engines = new_pool()
    claim = api.core.read_namespaced_persistent_volume_claim(f"{RELEASE}-l2", namespace)
    assert (claim.status.phase, claim.spec.access_modes) == ("Bound", ["ReadWriteMany"])
    first, second = engines.pods()
    cross_pod_hit(engines, first, second)
    # Really in the pool: what the engine sees is the mount, and the bytes lie on the workers' disks.
    assert " fuse" in mount_at(api, second, "/mnt/kv-l2/fs")
    assert engines.counters(first).stored_chunks > 0
    assert on_disks(nodes, workers) > 1 << 20


def test_helm_test_proves_it(release: Release, kubeconfig: Path, namespace: str) -> None:
    release.apply()
    done = Helm(kubeconfig, namespace, RELEASE).test()
    print(done.text)
    assert done.ok, done.text
