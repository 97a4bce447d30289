"""One release that each drill installs as it needs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster.helm import Helm

from ..api import Api
from ..conftest import MODEL, VALUES
from ..engines import Engines

Install = Callable[..., Engines]
SMOLLM2: dict[str, Any] = {
    "source": {"claim": {"name": "models", "subPath": "smollm2-135m-instruct"}},
    "cache": {"l1": {"memory": "1Gi"}},
    "resources": {"engine": {"limits": {"memory": "5Gi"}}, "lmcache": {"limits": {"memory": "3Gi"}}},
}
"""The real small model, whose prefill takes long enough to tell hits from misses by time."""
TITLED: dict[str, Any] = {"engine": {"env": {"TKC_ENGINE_FORK": "0"}}}
"""Engine processes that start anew, as upstream's: only these carry titles such as `VLLM::EngineCore`."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def install(
    helm: Helm, api: Api, image_values: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Install]:
    """(values of the model over tiny.yaml, replicas, other values) -> its engines, all of them ready and started anew."""
    release = Helm(helm.kubeconfig, helm.namespace, "drill", [VALUES, *image_values])
    override = tmp_path_factory.mktemp("drill") / "values.json"

    def fresh(model: dict[str, Any] | None = None, replicas: int = 2, **release_values: Any) -> Engines:
        release.uninstall()
        engines = Engines(api, release.namespace, release.release, MODEL)
        engines.ready(0)
        models = {MODEL: {"replicas": replicas, **(model or {})}}
        override.write_text(json.dumps({"lineOfBusiness": "drill", "models": models, **release_values}))
        done = release.upgrade("-f", str(override))
        assert done.ok, done.text
        engines.ready(replicas)
        return engines

    yield fresh
    release.uninstall()
