"""AWS's definitions with the fields of later operators."""

from __future__ import annotations

import pytest

from crds.endpoints import NEWER as KNOWN
from emulators.operator.definitions import NEWER, definitions
from emulators.operator.options import Json


def fields(version: str) -> Json:
    """Properties of an endpoint's spec in the stored version."""
    (found,) = [each for each in definitions(version) if each["spec"]["names"]["kind"] == "InferenceEndpointConfig"]
    (stored,) = [each for each in found["spec"]["versions"] if each["storage"]]
    return dict(stored["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])


@pytest.mark.parametrize(("version", "there"), [("3.2", False), ("3.6", False), ("3.7", True)])
def test_the_mode_is_known_since_it_is(version: str, there: bool) -> None:
    assert ("lmcache" in fields(version)["kvCacheSpec"]["properties"]) == there
    assert len(definitions(version)) == 3


def test_a_version_leaves_the_others_alone() -> None:
    assert "podTemplateAnnotations" in fields("3.6")["kubernetes"]["properties"]
    assert "podTemplateAnnotations" not in fields("3.2")["kubernetes"]["properties"]


def test_the_fields_are_those_that_the_charts_tests_know() -> None:
    assert {place for _, place, _ in NEWER} == set(KNOWN)
