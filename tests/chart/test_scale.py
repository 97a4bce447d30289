"""Many models render right: 20 lines of business with 10 models each, and 200 models in one release."""

from __future__ import annotations

from pathlib import Path

import pytest

from chart.helm import Helm, Manifests
from testing import scale

MODELS = scale.LINES_OF_BUSINESS * scale.MODELS


@pytest.fixture(scope="module")
def rendered(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Manifests], Manifests]:
    """A release for each line of business, and one with all models."""
    each, together = scale.files(tmp_path_factory.mktemp("scale"))

    def release(file: Path) -> Manifests:
        return helm.template(files=(file,), release=file.stem)

    return [release(file) for file in each], release(together)


def test_every_model_is_there_and_none_twice(rendered: tuple[list[Manifests], Manifests]) -> None:
    each, together = rendered
    assert len(together.of("Service")) == MODELS
    seen = [(found["kind"], found["metadata"]["name"]) for one in (*each, together) for found in one.objects]
    assert len(seen) == len(set(seen))
    for one in each:
        assert len(one.of("Service")) == scale.MODELS


def test_a_model_is_the_same_alone_and_among_many(rendered: tuple[list[Manifests], Manifests], helm: Helm) -> None:
    _, together = rendered
    name, number = "model-137", 137
    alone = helm.template(
        {"models": {"tiny": None}}, scale.values("all", number + 1), {"models": {f"model-{n:03d}": None for n in range(number)}},
        release="together",
    )  # fmt: skip
    for kind in ("Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget"):
        of_model = [
            found for found in alone.of(kind) if found["metadata"]["labels"].get("tiered-kv-cache.io/model") == name
        ]
        assert of_model
        for found in of_model:
            assert together.get(kind, found["metadata"]["name"]) == found


def test_settings_of_each_model_are_its_own(rendered: tuple[list[Manifests], Manifests]) -> None:
    _, together = rendered
    for found in together.of("Deployment"):
        labels = found["metadata"]["labels"]
        if labels["app.kubernetes.io/component"] == "engine":
            number = int(labels["tiered-kv-cache.io/model"].removeprefix("model-"))
            assert found["spec"]["replicas"] == 2 + number % 3
            (vllm,) = [each for each in found["spec"]["template"]["spec"]["containers"] if each["name"] == "vllm"]
            assert vllm["args"][vllm["args"].index("--seed") + 1] == str(number)
