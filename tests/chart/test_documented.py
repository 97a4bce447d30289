"""What README.md and docs/ show of values is accepted as it stands: whole files render, parts are valid, and keys that are named exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from chart.helm import CHART, REPO, Helm, Json

SCHEMA: Json = json.loads((CHART / "values.schema.json").read_text())
PAGES = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]
VALUES: Json = SCHEMA["definitions"]["values"]
MODEL: Json = SCHEMA["definitions"]["model"]["properties"]


def _blocks() -> Iterator[Any]:
    for page in PAGES:
        for number, text in enumerate(re.findall(r"^```ya?ml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)):
            yield pytest.param(text, id=f"{page.stem}-{number}")


BLOCKS = list(_blocks())
WHOLE = [each for each in BLOCKS if {"lineOfBusiness", "models"} <= set(yaml.safe_load(each.values[0]) or {})]


def test_there_are_some() -> None:
    assert len(BLOCKS) > 5
    assert len(WHOLE) > 2


@pytest.mark.parametrize("text", BLOCKS)
def test_is_valid(text: str) -> None:
    """A block of another kind than values has another language, or none."""
    assert not [error.message for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(yaml.safe_load(text) or {})]
    for path in re.findall(r"yaml-language-server: \$schema=(\S+)", text):
        assert (REPO / path).resolve() == CHART / "values.schema.json"


@pytest.mark.parametrize("text", WHOLE)
def test_renders(helm: Helm, tmp_path: Path, text: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    manifests = helm.template(files=(file,))
    names = {each["metadata"]["labels"].get("app.kubernetes.io/component") for each in manifests.of("Deployment")}
    assert {"engine", "router"} <= names
    given = yaml.safe_load(text).get("defaults", {}).get("engine", {}).get("image")
    if given:
        images = {each["image"] for each in manifests.pod()["spec"]["containers"]}
        assert images == {f"{given['repository']}:{given['tag']}"}


def _known(node: Json, parts: list[str]) -> bool:
    """Whether there is such a key below a node; what a map of the user's own holds is not asked."""
    node = SCHEMA["definitions"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    if not parts or "properties" not in node:
        return True
    if parts[0] in node["properties"]:
        return _known(node["properties"][parts[0]], parts[1:])
    return bool(node.get("patternProperties")) or isinstance(node.get("additionalProperties"), dict)


def _named(page: Path) -> set[str]:
    """Dotted keys in code spans that begin as a key of the chart or of a model does."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([a-z][A-Za-z0-9]*(?:\.[a-z][A-Za-z0-9]*)+)(?:: [^`]*)?`", text)
    return {span for span in spans if span.split(".")[0] in VALUES["properties"] | MODEL}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_keys_that_a_page_names_exist(page: Path) -> None:
    unknown = set()
    for key in _named(page):
        parts = key.split(".")
        if not any(parts[0] in of and _known({"properties": of}, parts) for of in (VALUES["properties"], MODEL)):
            unknown.add(key)
    assert not unknown


def test_many_keys_are_named() -> None:
    assert len(set().union(*map(_named, PAGES))) > 150
