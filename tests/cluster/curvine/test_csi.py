"""The pool by claims of Curvine's CSI driver: one install to a hit; what Pods see when the node plugin ends; the guided way back.

They run in this order, each with what the one before has left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from local_cluster.helm import Helm

from ..api import Api, wait_for
from ..conftest import MODEL
from ..engines import Engines, prompt_of
from .conftest import Install, Release
from .hits import TOKENS, cross_pod_hit, l2_hit, mount_at, on_disks
from .names import RELEASE
from .parts import Pool

MOUNT = "/mnt/kv-l2"
ANNOTATION = "tiered-kv-cache.io/pool-mount"


def claims(api: Api, namespace: str) -> list[client.V1PersistentVolumeClaim]:
    """The driver's claims."""
    found = api.core.list_namespaced_persistent_volume_claim(namespace).items
    return [one for one in found if one.metadata.name.startswith(f"{RELEASE}-l2-")]


@pytest.fixture(scope="module")
def csi(
    csi_images: dict[str, dict[str, str]], new_pool: Install, release: Release, api: Api, helm: Helm
) -> Iterator[Engines]:
    """Two engines on a pool in mode csi. At the end the claim goes first: with the driver it would stay half deleted."""
    images = {part: {"image": image} for part, image in csi_images.items() if part}
    values: dict[str, Any] = {"client": {"mode": "csi", "csi": {"image": csi_images[""], **images}}}
    began = time.monotonic()
    engines = new_pool(curvine=values)
    print(f"release in mode csi with two ready engines: {time.monotonic() - began:.0f} s")
    yield engines
    volumes = [claim.spec.volume_name for claim in claims(api, helm.namespace)]
    release.apply(replicas=0, curvine=values, models={MODEL: {"enabled": False}})
    for claim in claims(api, helm.namespace):
        api.core.delete_namespaced_persistent_volume_claim(claim.metadata.name, helm.namespace)
    wait_for("the driver has removed its volumes", lambda: not [name for name in volumes if _exists(api, name)], 180)


def _exists(api: Api, volume: str) -> bool:
    try:
        api.core.read_persistent_volume(volume)
    except ApiException as error:
        if error.status == 404:
            return False
        raise
    return True


def told(pool: Pool, node: str) -> str:
    """What the node plugin of a node says of its mounts."""
    return str((pool.on("csi-node", node).metadata.annotations or {}).get(ANNOTATION, ""))


def _tells(pool: Pool, pod: client.V1Pod, state: str) -> bool:
    return f"{pod.metadata.namespace}/{pod.metadata.name}: {state}" in told(pool, pod.spec.node_name)


def test_install_to_cross_pod_hit(csi: Engines, pool: Pool, workers: list[str]) -> None:
    api, namespace = pool.api, pool.namespace
    (claim,) = claims(api, namespace)
    assert (claim.status.phase, claim.spec.access_modes) == ("Bound", ["ReadWriteMany"])
    first, second = csi.pods()
    cross_pod_hit(csi, first, second, "csi")
    # A directory of the pool that is this claim's alone, and belongs to the engines' user.
    mount = mount_at(api, second, MOUNT)
    assert " fuse" in mount
    assert mount.split()[3] == f"/{claim.spec.volume_name}"
    seen = api.run(
        namespace, second.metadata.name, "lmcache", ["sh", "-c", f"ls -A {MOUNT}; stat -c '%u %a' {MOUNT}; id -u"]
    )
    assert seen.split() == ["v1", "10001", "755", "10001"]
    assert on_disks(pool.nodes, workers) > 1 << 20
    for pod in (first, second):
        wait_for("the node plugin tells of it", partial(_tells, pool, pod, "alive"), 60)


def test_a_pod_that_leaves_takes_no_others_mount(csi: Engines, api: Api, namespace: str) -> None:
    first, second = csi.pods()
    prompt = prompt_of("csi leaving", TOKENS + 20)
    text = csi.fill(second, prompt).text
    api.core.delete_namespaced_pod(first.metadata.name, namespace)
    wait_for("it has gone", lambda: first.metadata.name not in _names(api, namespace), 180)
    csi.ready(2)
    assert l2_hit(csi, second, prompt, text)


def _names(api: Api, namespace: str) -> list[str]:
    return [pod.metadata.name for pod in api.core.list_namespaced_pod(namespace).items]


def test_node_plugin_killed(csi: Engines, api: Api, namespace: str, pool: Pool) -> None:
    hurt, other = csi.pods()
    prompt = prompt_of("csi killed", TOKENS + 20)
    text = csi.fill(hurt, prompt).text
    before = pool.on("csi-node", hurt.spec.node_name)
    pool.kill(before, "csi")
    killed = time.monotonic()

    def restarted() -> bool:
        now = pool.on("csi-node", hurt.spec.node_name)
        counts = {s.name: s.restart_count for s in now.status.container_statuses}
        return now.metadata.uid == before.metadata.uid and bool(counts["csi"])

    wait_for("the driver runs again in the same Pod", restarted, 120)
    # What a running Pod sees: a dead mount, and answers that are computed.
    state = api.run(namespace, hurt.metadata.name, "lmcache", ["sh", "-c", f"stat {MOUNT} 2>&1 || true"])
    assert "not connected" in state, state
    for number in range(6):
        begin = time.monotonic()
        csi.clear_l0(hurt)
        csi.clear_l1(hurt)
        assert csi.ask(hurt, prompt).text == text
        print(f"request {number} on the dead mount: {time.monotonic() - begin:.2f} s")
    wait_for("the node plugin says which Pod must restart", partial(_tells, pool, hurt, "dead (ENOTCONN)"), 60)
    print(f"told {time.monotonic() - killed:.0f} s after the kill")
    assert l2_hit(csi, other, prompt, text), "the other node has not noticed"
    # The way back: the Pods that it names.
    begin = time.monotonic()
    _delete_all_that_use(api, pool, hurt.spec.node_name)
    wait_for("the dead mount's Pod has gone", lambda: hurt.metadata.name not in _names(api, namespace), 300)
    print(f"the Pod on the dead mount was gone after {time.monotonic() - begin:.0f} s")
    csi.ready(2)
    for pod in csi.pods():
        wait_for("a hit again", partial(l2_hit, csi, pod, prompt, text), 60)
    print(f"hits in all Pods again {time.monotonic() - begin:.0f} s after the restart began")


def test_guided_restart_of_a_node_plugin(csi: Engines, api: Api, namespace: str, pool: Pool) -> None:
    """As docs/pool.md says: cordon, delete the plugin's Pod, restart the Pods that use it, uncordon."""
    staying = csi.pods()[0]
    node = staying.spec.node_name
    prompt = prompt_of("csi guided", TOKENS + 20)
    text = csi.fill(staying, prompt).text
    before = pool.on("csi-node", node)
    api.core.patch_node(node, {"spec": {"unschedulable": True}})
    try:
        pool.remove(before.metadata.name)
        time.sleep(20)
        assert before.metadata.name in _names(api, namespace), "it waits for those who use it"
        assert l2_hit(csi, staying, prompt, text), "and serves them meanwhile"
        _delete_all_that_use(api, pool, node, before.metadata.name)
        wait_for("it has left", lambda: before.metadata.name not in _names(api, namespace), 120)
        pool.ready("csi-node", len(pool.pods("csi-node")))
    finally:
        api.core.patch_node(node, {"spec": {"unschedulable": False}})
    csi.ready(2)
    for pod in csi.pods():
        wait_for("a hit", partial(l2_hit, csi, pod, prompt, text), 60)


def _delete_all_that_use(api: Api, pool: Pool, node: str, plugin: str = "") -> None:
    """Those that the annotation names, of the node plugin `plugin`, else of the one that runs on the node."""
    pod = api.core.read_namespaced_pod(plugin, pool.namespace) if plugin else pool.on("csi-node", node)
    for one in pod.metadata.annotations[ANNOTATION].split("; "):
        space, _, name = one.split(":")[0].partition("/")
        if name in _names(api, space):
            api.core.delete_namespaced_pod(name, space)
