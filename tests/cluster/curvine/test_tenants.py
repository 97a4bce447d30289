"""Two lines of business on one pool, each in a namespace of its own: neither sees what the other one has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local_cluster.helm import Helm

from ..api import Api, wait_for
from ..conftest import MODEL, VALUES, fresh_namespace
from ..engines import CHUNK, Engines, prompt_of
from .conftest import Install
from .names import LINE, RELEASE

SECOND = "tkc-test-second"
OTHER = "second"


@pytest.fixture
def second_namespace(kubeconfig: Path, api: Api) -> Iterator[str]:
    yield from fresh_namespace(kubeconfig, api, SECOND)


@pytest.fixture
def second(
    second_namespace: str, helm: Helm, image_values: list[Path], values: dict[str, Any], tmp_path: Path
) -> Iterator[Helm]:
    """A release that joins the pool; not installed yet."""
    joined = {
        "lineOfBusiness": OTHER,
        "l2": values["l2"],
        "curvine": {"pool": {"release": RELEASE, "namespace": helm.namespace, "masters": 1}},
        "models": {MODEL: {"replicas": 1}},
    }
    (tmp_path / "second.json").write_text(json.dumps(joined))
    made = Helm(helm.kubeconfig, second_namespace, "joined", [VALUES, *image_values, tmp_path / "second.json"])
    yield made
    made.uninstall()


def test_neither_sees_the_other(new_pool: Install, second: Helm, api: Api) -> None:
    first = new_pool(replicas=1, curvine={"linesOfBusiness": [OTHER]})
    done = second.upgrade()
    assert done.ok, done.text
    other = Engines(api, SECOND, "joined", MODEL)
    other.ready(1)
    (one,), (two,) = first.pods(), other.pods()
    prompt = prompt_of("tenants", 3 * CHUNK + 9)
    text = first.fill(one, prompt).text

    before = other.counters(two)
    assert other.ask(two, prompt).text == text
    assert other.counters(two).since(before).l2 == 0, "a block of another line of business was used"

    for engines, pod, own, foreign in ((first, one, LINE, OTHER), (other, two, OTHER, LINE)):
        wait_for("blocks in the pool", partial(_files, engines, pod, "-type f -size +100k"))
        tree = _files(engines, pod, "-mindepth 1")
        assert any(f"/{own}/" in path for path in tree)
        assert not [path for path in tree if f"/{foreign}/" in path or path.endswith(f"/{foreign}")]
        # Not root, and what it wrote is its own.
        assert _run(engines, pod, "id -u") == "10001"
        owners = set(_run(engines, pod, "find /mnt/kv-l2/fs -mindepth 1 -printf '%U\\n'").split())
        assert owners == {"10001"}
        # No way up: the directory above is the mount point on the node, read-only for it.
        assert "denied" in _run(engines, pod, "touch /mnt/kv-l2/probe 2>&1 || true").lower()


def _run(engines: Engines, pod: Any, script: str) -> str:
    return engines.api.run(engines.namespace, pod.metadata.name, "lmcache", ["sh", "-c", script]).strip()


def _files(engines: Engines, pod: Any, what: str) -> list[str]:
    return _run(engines, pod, f"find /mnt/kv-l2 {what}").splitlines()
