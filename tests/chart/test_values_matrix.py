"""Each values file, for both platforms and each version of Kubernetes: taken by an API server, or refused by one of our messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from chart.cases import VALUES_FILES, on_hyperpod
from chart.helm import Json, merged
from property.checks import third_outcome
from property.renderer import Question, Renderer, of_the_chart

VERSIONS = [f"1.{minor}.0" for minor in range(28, 38)]
PLATFORMS = ("kubernetes", "hyperpod")
ENDPOINT = "InferenceEndpointConfig"


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with of_the_chart() as running:
        yield running


def values(file: Path) -> Json:
    found: Json = yaml.safe_load(file.read_text())
    return found


def question(file: Path, of: Json, version: str) -> Question:
    # Short names, since those of the operator's objects are bounded.
    return Question(of, name=file.stem[:9], namespace=file.stem, kube_version=version)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", VALUES_FILES, ids=lambda path: path.stem)
def test_it_is_taken_or_refused(renderer: Renderer, file: Path, version: str, platform: str) -> None:
    asked = question(file, merged(values(file), {"platform": platform}), version)
    answer = renderer.ask(asked)
    assert third_outcome(asked, answer) is None
    # What a file was written for it renders.
    if values(file).get("platform", "kubernetes") == platform:
        assert not answer.error, answer.error
    if not answer.error and values(file).get("models"):
        kinds = {found["kind"] for found in answer.objects}
        assert (ENDPOINT in kinds) == (platform == "hyperpod")


@pytest.mark.parametrize("version", ["1.28.0", "1.36.0", "1.37.0"])
@pytest.mark.parametrize(
    "file", [file for file in VALUES_FILES if values(file).get("platform") != "hyperpod" and values(file).get("models")],
    ids=lambda path: path.stem,
)  # fmt: skip
def test_with_what_the_messages_ask_for_it_becomes_endpoints(renderer: Renderer, file: Path, version: str) -> None:
    asked = question(file, on_hyperpod(file.stem, values(file)), version)
    answer = renderer.ask(asked)
    assert not answer.error, answer.error
    assert third_outcome(asked, answer) is None
