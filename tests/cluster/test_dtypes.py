"""One model in float32 and in bfloat16, same name and line of business, on one volume: no block goes from one to the other.

LMCache's key has no dtype and its files no header: in one directory, the narrower type reads the wider one's files as
garbage and counts them as hits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cluster.helm import Helm

from .api import Api
from .conftest import MODEL, VALUES
from .engines import Engines, prompt_of


@pytest.fixture(scope="module")
def both(helm: Helm, release: Helm, api: Api, image_values: list[Path]) -> Iterator[dict[str, Engines]]:
    """dtype -> the engines that serve it."""
    half = Helm(helm.kubeconfig, helm.namespace, "half", [VALUES, *image_values])
    model = f"models.{MODEL}"
    done = half.upgrade("--set", f"{model}.engine.dtype=bfloat16,{model}.replicas=1", wait_s=600)
    assert done.ok, done.text
    yield {
        "float32": Engines(api, release.namespace, release.release, MODEL),
        "bfloat16": Engines(api, half.namespace, half.release, MODEL),
    }
    half.uninstall()


@pytest.mark.parametrize(("writer", "reader"), [("float32", "bfloat16"), ("bfloat16", "float32")])
def test_no_block_is_shared(both: dict[str, Engines], writer: str, reader: str) -> None:
    prompt = prompt_of(f"{writer[0]}to{reader[0]}")
    both[writer].fill(both[writer].pods()[0], prompt)
    pod = both[reader].pods()[0]
    # What this very Pod says when nothing of the prompt can come from a cache.
    right = both[reader].ask(pod, prompt, cache_salt="nobody-else").text
    cold, hits = both[reader].hits(pod, prompt)
    assert (hits.l0, hits.l1, hits.l2, hits.external) == (0, 0, 0, 0)
    assert cold.text == right
    again, hits = both[reader].hits(pod, prompt)
    assert hits.l0 + hits.external > 0, "nothing is cached at all; the zeros above would prove nothing"
    assert again.text == right
