"""One `helm install` on clean disks: a pool, a bound claim, and blocks that one engine's Pod stores and another one's reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from local_cluster.helm import Helm

from ..api import Api, wait_for
from ..engines import CHUNK, prompt_of
from .conftest import Install, Release
from .names import DISK, RELEASE


def test_install_to_cross_pod_hit(
    new_pool: Install, api: Api, namespace: str, workers: list[str], nodes: Callable[..., str]
) -> None:
    engines = new_pool()
    claim = api.core.read_namespaced_persistent_volume_claim(f"{RELEASE}-l2", namespace)
    assert (claim.status.phase, claim.spec.access_modes) == ("Bound", ["ReadWriteMany"])
    first, second = engines.pods()
    assert first.spec.node_name != second.spec.node_name
    prompt = prompt_of("pool", 3 * CHUNK + 20)
    cold = engines.ask(first, prompt)
    before = engines.counters(second)

    def hit() -> bool:
        engines.clear_l0(second)
        engines.clear_l1(second)
        same = engines.ask(second, prompt).text == cold.text
        return same and engines.counters(second).since(before).l2 >= 3 * CHUNK

    wait_for("a hit through the pool", hit, 60)
    # Really in the pool: what the engine sees is the mount, and the bytes lie on the workers' disks.
    table = api.run(namespace, second.metadata.name, "lmcache", ["cat", "/proc/self/mountinfo"])
    (mount,) = [line for line in table.splitlines() if line.split()[4] == "/mnt/kv-l2/fs"]
    assert " fuse" in mount
    on_disk = sum(int(nodes(node, "du", "-s", "--block-size=1", f"{DISK}/kv").split()[0]) for node in workers)
    payload = engines.counters(first).stored_chunks
    assert payload > 0
    assert on_disk > 1 << 20


def test_helm_test_proves_it(release: Release, kubeconfig: Path, namespace: str) -> None:
    release.apply()
    done = Helm(kubeconfig, namespace, RELEASE).test()
    print(done.text)
    assert done.ok, done.text
