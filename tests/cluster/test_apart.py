"""Models of one release, and releases of one namespace, share the volume and nothing else. Proven by counters.

All of them serve one tokenizer, so that the same prompt is the same token ids everywhere: whatever was shared would hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cluster.helm import Helm

from .api import Api
from .conftest import MODEL, VALUES
from .engines import Engines, Prompt, prompt_of

TWO = VALUES.parent / "two.yaml"


@pytest.fixture(scope="module")
def two(helm: Helm, image_values: list[Path]) -> Iterator[Helm]:
    """A release with two models, two Pods each."""
    other = Helm(helm.kubeconfig, helm.namespace, "two", [VALUES, TWO, *image_values])
    done = other.upgrade(wait_s=600)
    assert done.ok, done.text
    yield other
    other.uninstall()


@pytest.fixture(scope="module")
def one_of_two(two: Helm) -> Helm:
    """The same release with its second model switched off, since four engines are what a small machine holds."""
    done = two.upgrade("--set", "models.second.enabled=false", wait_s=300)
    assert done.ok, done.text
    return two


def shares_within(engines: Engines, prompt: Prompt) -> str:
    """The first Pod of a model finds nothing of a prompt, the second finds all of it in L2; returns the answer."""
    first, second = engines.ready(2)
    before = engines.counters(first)
    cold = engines.fill(first, prompt)
    done = engines.counters(first).since(before)
    assert (done.l0, done.l1, done.l2, done.external) == (0, 0, 0, 0), f"{engines.model}: foreign hits {done}"
    warm, done = engines.hits(second, prompt)
    assert (done.l0, done.l1, done.l2) == (0, 0, cold.full_chunks)
    assert done.external == cold.full_chunks
    assert warm.text == cold.text
    return cold.text


def test_two_models_of_one_release(two: Helm, api: Api) -> None:
    prompt = prompt_of("both")
    texts = {
        model: shares_within(Engines(api, two.namespace, two.release, model), prompt) for model in ("tiny", "second")
    }
    assert texts["tiny"] != texts["second"], "the models answer alike; a block of the other would not be noticed"


def test_two_releases_of_one_namespace(one_of_two: Helm, release: Helm, api: Api) -> None:
    """The same model of the same files, once for each line of business."""
    prompt = prompt_of("releases")
    texts = {shares_within(Engines(api, each.namespace, each.release, MODEL), prompt) for each in (one_of_two, release)}
    assert len(texts) == 1
