"""Weights that are replaced in place, behind an unchanged path and unchanged values: no block of the old ones is used."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cluster import volumes
from local_cluster.helm import Helm
from local_cluster.settings import NODE_SHARED, PLACES

from .api import Api, wait_for
from .conftest import MODEL, VALUES
from .engines import Engines, prompt_of

FOLDER = "replaced-weights"
CLAIM = "replaced-weights"


@pytest.fixture
def weights() -> Iterator[Path]:
    """A model folder that the nodes see too, and that the test may write to."""
    folder = PLACES.state / "shared" / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PLACES.models / "tiny-llama-12m", folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def replaced(helm: Helm, weights: Path, image_values: list[Path]) -> Iterator[Helm]:
    """A release whose model is that folder."""
    volumes.ensure_claim(helm.kubeconfig, helm.namespace, CLAIM, f"{NODE_SHARED}/{FOLDER}")
    one = Helm(helm.kubeconfig, helm.namespace, "replaced", [VALUES, *image_values])
    source = f"models.{MODEL}.source.claim"
    done = one.upgrade(
        "--set",
        f"{source}.name={CLAIM},{source}.subPath=,models.{MODEL}.replicas=1,lineOfBusiness=replaced",
        wait_s=600,
    )
    assert done.ok, done.text
    yield one
    one.uninstall()


def test_old_blocks_are_never_used(replaced: Helm, weights: Path, api: Api) -> None:
    engines = Engines(api, replaced.namespace, replaced.release, MODEL)
    prompt = prompt_of("weights")
    old = engines.fill(engines.ready(1)[0], prompt)

    shutil.copyfile(PLACES.models / "other-llama-12m" / "model.safetensors", weights / "model.safetensors")
    _restart(engines)
    new, hits = engines.hits(engines.pods()[0], prompt)
    assert (hits.l0, hits.l1, hits.l2, hits.external) == (0, 0, 0, 0)
    assert new.text != old.text, "the weights are still the old ones"
    assert new.text == engines.ask(engines.pods()[0], prompt, cache_salt="nobody-else").text

    # And back: the first weights' blocks are theirs again, so that the zeros above were no lost cache.
    shutil.copyfile(PLACES.models / "tiny-llama-12m" / "model.safetensors", weights / "model.safetensors")
    _restart(engines)
    back, hits = engines.hits(engines.pods()[0], prompt)
    assert hits.l2 == old.full_chunks
    assert back.text == old.text


def _restart(engines: Engines) -> None:
    (pod,) = engines.pods()
    engines.api.core.delete_namespaced_pod(pod.metadata.name, engines.namespace)
    wait_for("another Pod", lambda: {p.metadata.name for p in engines.pods()} - {pod.metadata.name})
    engines.ready(1)
