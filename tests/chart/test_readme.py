"""The values files that README.md shows are accepted as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from chart.helm import CHART, REPO, Helm, Json

KEYS: set[str] = set(yaml.safe_load((CHART / "values.yaml").read_text()))
BLOCKS: list[str] = re.findall(r"^```ya?ml\n(.*?)^```", (REPO / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def _values(block: str) -> bool:
    tree: Json = yaml.safe_load(block)
    return isinstance(tree, dict) and set(tree) <= KEYS


FILES = [block for block in BLOCKS if _values(block)]


def test_there_is_one() -> None:
    assert FILES


@pytest.mark.parametrize("text", FILES)
def test_renders(helm: Helm, tmp_path: Path, text: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    manifests = helm.template(files=(file,))
    names = {each["metadata"]["labels"].get("app.kubernetes.io/component") for each in manifests.of("Deployment")}
    assert {"engine", "router"} <= names
    images = {each["image"] for each in manifests.pod()["spec"]["containers"]}
    assert images == {"registry.example.com/tiered-kv-cache/engine-cpu:v1"}
