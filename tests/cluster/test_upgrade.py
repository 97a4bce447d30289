"""Upgrades and lost Pods under constant traffic: no request fails, two replicas need no spare slot, the cache stays.

The steps share one stream of traffic, so their order is the order of this file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_cluster.helm import Helm
from local_cluster.images import REPOSITORY

from .api import Api, wait_for
from .conftest import MODEL
from .driver import Traffic, traffic
from .engines import Engines, prompt_of
from .nodes import Nodes

ALIAS = "another-tag"
REQUESTS = 500


@pytest.fixture(scope="module")
def engines(release: Helm, api: Api) -> Engines:
    return Engines(api, release.namespace, release.release, MODEL)


@pytest.fixture(scope="module")
def going(release: Helm, api: Api, images: dict[str, str]) -> Iterator[Traffic]:
    url = f"http://{release.release}-{MODEL}.{release.namespace}"
    with traffic(api, release.namespace, url, MODEL, images["hooks"]) as started:
        yield started


@pytest.fixture(scope="module")
def changes(images: dict[str, str]) -> Iterator[list[str]]:
    """Everything that must not cost a hit: environment, image tag (of an image that is the same), lengths and sizes."""
    nodes, alias = Nodes(), f"{REPOSITORY}/engine-cpu:{ALIAS}"
    nodes.tag(images["engine-cpu"], alias)
    key = f"models.{MODEL}.engine"
    yield [
        "--set", f"{key}.env.WHAT_CHANGED=everything", "--set", f"{key}.image.tag={ALIAS}",
        "--set", f"{key}.maxModelLen=3072", "--set", f"{key}.maxNumSeqs=6", "--set", f"{key}.cpu.kvCacheSpaceGiB=2",
        "--set", f"models.{MODEL}.resources.engine.limits.memory=5Gi",
    ]  # fmt: skip
    nodes.untag(alias)


def test_new_environment_image_and_sizes(
    release: Helm, engines: Engines, going: Traffic, changes: list[str], api: Api
) -> None:
    prompt = prompt_of("upgrade")
    cold = engines.fill(engines.pods()[0], prompt)
    before = {pod.metadata.name for pod in engines.pods()}
    done = release.upgrade(*changes, wait_s=600)
    assert done.ok, done.text
    pods = engines.ready(2)
    assert not before & {pod.metadata.name for pod in pods}, "the Pods were not replaced"
    assert all(container.image.endswith(ALIAS) for pod in pods for container in pod.spec.containers)
    for pod in pods:
        warm, hits = engines.hits(pod, prompt)
        assert warm.text == cold.text
        assert hits.l2 == cold.full_chunks
    going.unharmed()


@pytest.mark.parametrize("replicas", [3, 2])
def test_other_replica_count(
    replicas: int, release: Helm, engines: Engines, going: Traffic, changes: list[str]
) -> None:
    done = release.upgrade(*changes, "--set", f"models.{MODEL}.replicas={replicas}", wait_s=600)
    assert done.ok, done.text
    engines.ready(replicas)
    going.unharmed()


def test_router_is_replaced(release: Helm, going: Traffic, changes: list[str]) -> None:
    done = release.upgrade(*changes, "--set", "defaults.resources.router.requests.cpu=60m", wait_s=300)
    assert done.ok, done.text
    going.unharmed()


def test_pod_is_deleted(release: Helm, engines: Engines, going: Traffic, api: Api) -> None:
    victim = engines.pods()[0].metadata.name
    api.core.delete_namespaced_pod(victim, release.namespace)
    wait_for("another Pod", lambda: victim not in {pod.metadata.name for pod in engines.pods()})
    engines.ready(2)
    going.unharmed()


def test_no_request_of_all_failed(going: Traffic) -> None:
    going.at_least(REQUESTS)
    report = going.stop()
    assert report["failures"] == []
    assert report["sent"] >= REQUESTS
    assert report["streamed"] >= REQUESTS / 3
    print(f"{report['sent']} requests, {report['streamed']} streamed, slowest {report['slowest']} s")
