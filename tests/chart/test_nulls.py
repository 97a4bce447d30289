"""null at any key: the default is gone, or one of our messages names the key; never an error of Helm's template engine (OC-07)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.helm import CHART, Helm, Json, Manifests, Refused, merged
from chart.test_golden import normal

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


OTHERS_POOL: Json = {
    "l2": {"volume": {"type": "curvine", "claimName": "", "size": "400Gi"}},
    "curvine": {"pool": {"release": "platform", "namespace": "kv-platform", "masters": 3}},
}
FEATURES: dict[str, Json] = {
    "a pool of another release": OTHERS_POOL,
    "a pool of another release, csi": merged(OTHERS_POOL, {"curvine": {"client": {"mode": "csi"}}}),
    "gateway, no L1": {
        "gateway": {"enabled": True, "exclusive": True},
        "apiKey": {"secretName": "key"},
        "models": {"tiny": {"cache": {"l1": {"enabled": False}}, "routing": {"strategy": "prefixaware"}}},
    },
    "download, scaling": {
        "modelStore": {"type": "hostPath", "hostPath": {"path": "/srv/models"}},
        "models": {
            "tiny": {
                "source": {"claim": None, "huggingFace": {"id": "a/b", "revision": "0" * 40}},
                "autoscaling": {"enabled": True},
                "routing": {"strategy": "kvaware"},
            }
        },
    },
}
MAPS = [path for path in _keys(DEFAULTS) if path[0] not in ("defaults", "models") and len(path) < 3]


@pytest.mark.parametrize("feature", FEATURES)
def test_null_beside_what_looks_at_it(helm: Helm, feature: str) -> None:
    def fault(path: tuple[str, ...]) -> str | None:
        try:
            helm.template(FEATURES[feature], _nulled(path))
        except Refused as refused:
            ours = "in the values of release demo; nothing was changed" in str(refused)
            return None if ours else f"{'.'.join(path)}: {refused}"
        return None

    with ThreadPoolExecutor() as pool:
        faults = list(filter(None, pool.map(fault, MAPS)))
    assert not faults, "\n".join(faults)


def test_null_renders_or_is_refused_by_name(helm: Helm) -> None:
    """All keys in one test, several helms at a time: one by one they would take longer than all other tests."""
    assert len(PATHS) > 150
    with ThreadPoolExecutor() as pool:
        faults = list(filter(None, pool.map(lambda path: _fault(helm, path), PATHS)))
    assert not faults, "\n".join(faults)


PLATFORM = """\
l2: {volume: {claimName: kv}}
defaults:
  nodeSelector: {pool: kv}
  podAnnotations: {example.com/a: "1", example.com/b: "2"}
models:
  qwen2-7b-instruct: {source: {claim: {name: models, subPath: qwen}}}
  tiny: {source: {claim: {name: models, subPath: tiny}}, tolerations: [{operator: Exists}]}
"""
OVERLAY = """\
lineOfBusiness: retail
defaults:
  resources: {engine: {limits: {cpu: null}}}
  nodeSelector: null
  autoscaling: null
  podAnnotations: {example.com/a: null}
models:
  qwen2-7b-instruct: null
  tiny: {tolerations: null, engine: {env: null}}
"""


def _overlaid(helm: Helm, folder: Path, overlay: str) -> Manifests:
    platform, lob = folder / "platform.yaml", folder / "lob.yaml"
    platform.write_text(PLATFORM)
    lob.write_text(overlay)
    return helm.template(files=(platform, lob))


def test_an_overlay_deletes_what_a_platform_file_sets(helm: Helm, helm_other: Helm, tmp_path: Path) -> None:
    manifests = _overlaid(helm, tmp_path, OVERLAY)
    assert normal(manifests.text) == normal(_overlaid(helm_other, tmp_path, OVERLAY).text)
    assert "qwen2" not in manifests.text
    pod = manifests.pod()
    assert "nodeSelector" not in pod["spec"]
    assert "tolerations" not in pod["spec"]
    assert manifests.container("vllm")["resources"]["limits"] == {"memory": "8Gi"}
    annotations = pod["metadata"]["annotations"]
    assert annotations["example.com/b"] == "2"
    assert "example.com/a" not in annotations
    # Without autoscaling the number of Pods is the chart's own.
    (deployment,) = [each for each in manifests.of("Deployment") if each["metadata"]["name"] == "demo-tiny-engine"]
    assert deployment["spec"]["replicas"] == 2


def test_both_helms_name_a_null_that_means_nothing(helm: Helm, helm_other: Helm, tmp_path: Path) -> None:
    overlay = "lineOfBusiness: retail\ndefaults: {cache: {l1: {memory: null}}}\n"
    for each in (helm, helm_other):
        with pytest.raises(Refused) as refused:
            _overlaid(each, tmp_path, overlay)
        message = str(refused.value)
        assert "cache.l1.memory: not given" in message
        assert "nil pointer" not in message
        assert "got null" not in message
