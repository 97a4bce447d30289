"""null at any key: the default is gone, or one of our messages names the key; never an error of Helm's template engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from chart.helm import CHART, Helm, Json, Refused

DEFAULTS: Json = yaml.safe_load((CHART / "values.yaml").read_text())


def _keys(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if path:
        yield path
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _keys(value, (*path, key))


def _nulled(path: tuple[str, ...]) -> Json:
    tree: Any = None
    for part in reversed(path):
        tree = {part: tree}
    assert isinstance(tree, dict)
    return tree


# The same keys below the model of the tests: there Helm knows no default and hands the null through.
OF_MODEL = [("models", "tiny", *path[1:]) for path in _keys(DEFAULTS) if path[0] == "defaults" and len(path) > 1]


@pytest.mark.parametrize("path", [*_keys(DEFAULTS), *OF_MODEL], ids=".".join)
def test_null_renders_or_is_refused_by_name(helm: Helm, path: tuple[str, ...]) -> None:
    try:
        manifests = helm.template(_nulled(path))
    except Refused as refused:
        message = str(refused)
        assert "in the values of release demo; nothing was changed" in message
        assert path[-1] in message
    else:
        assert "<no value>" not in manifests.text
        assert "<nil>" not in manifests.text
        assert "null" not in manifests.text
