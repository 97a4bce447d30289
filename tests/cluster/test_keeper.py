"""The keeper beside a real engine: what is stored is counted, and the quota holds by evicting what was used least."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster.helm import Helm
from local_cluster.settings import PLACES

from .api import Api, wait_for
from .conftest import MODEL, VALUES, own_volume
from .engines import Engines, prompt_of

LINE_OF_BUSINESS = "kept"
FOLDER = "l2-kept"
VOLUME = PLACES.state / "shared" / FOLDER
QUOTA = 16 * 2**20
"""Ten chunks of this model."""


@pytest.fixture
def kept(helm: Helm, image_values: list[Path]) -> Iterator[Helm]:
    """A release of its own, with a small quota and nothing on the volume yet."""
    with own_volume(FOLDER) as (_, on_nodes):
        one = Helm(helm.kubeconfig, helm.namespace, "kept", [VALUES, *image_values])
        values = {
            "lineOfBusiness": LINE_OF_BUSINESS,
            f"models.{MODEL}.replicas": 1,
            "l2.keeper.quota": QUOTA,
            "l2.volume.hostPath.path": on_nodes,
        }
        done = one.upgrade("--set", ",".join(f"{key}={value}" for key, value in values.items()), wait_s=600)
        assert done.ok, done.text
        yield one
        one.uninstall()


def status(api: Api, release: Helm) -> dict[str, Any]:
    """What the keeper itself says."""
    label = f"app.kubernetes.io/instance={release.release},app.kubernetes.io/component=keeper"
    (pod,) = api.core.list_namespaced_pod(release.namespace, label_selector=label).items
    command = ["python", "-m", "tiered_kv_cache", "keeper", "status", "--json"]
    told: dict[str, Any] = json.loads(api.run(release.namespace, pod.metadata.name, "keeper", command))
    return told


def stored() -> int:
    """Bytes of objects that the line of business has on the volume."""
    return sum(path.stat().st_size for path in VOLUME.glob("v1/*/*/*/objects/*/*/*.kv"))


def test_quota_is_held_by_evicting_what_was_used_least(kept: Helm, api: Api) -> None:
    engines = Engines(api, kept.namespace, kept.release, MODEL)
    (pod,) = engines.ready(1)
    first = prompt_of("kept first", 2000)
    engines.fill(pod, first)
    before = stored()
    wait_for("the first prompt's objects in the keeper's books", lambda: _objects(api, kept) == 7, 120)
    second = prompt_of("kept second", 2000)
    engines.fill(pod, second)
    assert before < QUOTA < stored()
    wait_for("the quota held", lambda: stored() <= 0.85 * QUOTA, 300)
    assert stored() > 0, "the keeper took everything"
    engines.clear_l0(pod)
    engines.clear_l1(pod, force=True)
    answer, hits = engines.hits(pod, second)
    assert hits.l2 == answer.full_chunks, "what was used last went first"
    engines.clear_l0(pod)
    engines.clear_l1(pod, force=True)
    answer, hits = engines.hits(pod, first)
    assert hits.l2 < answer.full_chunks


def _objects(api: Api, release: Helm) -> int:
    return sum(
        root["objects"] for root in status(api, release)["fingerprints"] if root["lineOfBusiness"] == LINE_OF_BUSINESS
    )
