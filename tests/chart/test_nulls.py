"""null at any key: the default is gone, or one of our messages names the key; never an error of Helm's template engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

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


PATHS = [*_keys(DEFAULTS), *OF_MODEL]


def _fault(helm: Helm, path: tuple[str, ...]) -> str | None:
    """What is wrong with the answer to a null at this path."""
    try:
        text = helm.template(_nulled(path)).text
    except Refused as refused:
        message = str(refused)
        ours = "in the values of release demo; nothing was changed" in message and path[-1] in message
        return None if ours else f"{'.'.join(path)}: {message}"
    printed = [word for word in ("<no value>", "<nil>", "null") if word in text]
    return f"{'.'.join(path)}: rendered {printed}" if printed else None


def test_null_renders_or_is_refused_by_name(helm: Helm) -> None:
    """All keys in one test, several helms at a time: one by one they would take longer than all other tests."""
    assert len(PATHS) > 150
    with ThreadPoolExecutor() as pool:
        faults = list(filter(None, pool.map(lambda path: _fault(helm, path), PATHS)))
    assert not faults, "\n".join(faults)
