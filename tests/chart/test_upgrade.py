"""From the chart before this one, and from one set of values to another: what an upgrade compares is the same (OC-25)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import previous
from chart.cases import CASES
from chart.helm import CHART, Helm, Json, Manifests, model, overlay
from property.checks import containers

SELECTING = ("Deployment", "StatefulSet", "DaemonSet", "Job", "Service", "PodDisruptionBudget", "NetworkPolicy")


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This chart with the defaults of the one before: what `helm upgrade --reuse-values` renders."""
    folder = tmp_path_factory.mktemp("reused")
    shutil.unpack_archive(previous.CHART, folder / "before", "gztar")
    shutil.copytree(CHART, folder / "tiered-kv-cache")
    shutil.copy(folder / "before" / "tiered-kv-cache" / "values.yaml", folder / "tiered-kv-cache" / "values.yaml")
    return folder / "tiered-kv-cache"


def _answer(helm: Helm, chart: Path, values: Json) -> tuple[int, str]:
    command = [helm.path, "template", "demo", str(chart), "-n", "tiered-kv-cache", "-f", "-"]
    done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def _selectors(manifests: Manifests) -> dict[tuple[str, str], Any]:
    return {
        (each["kind"], each["metadata"]["name"]): each["spec"].get("selector") or each["spec"].get("podSelector")
        for each in manifests.objects
        if each["kind"] in SELECTING
    }


@pytest.mark.parametrize("case", ["minimal", "own-pool", "l2-patch-by-webhook", "gateway", "hyperpod-everything"])
def test_the_values_of_before_render_with_the_same_selectors(helm: Helm, case: str) -> None:
    code, text = _answer(helm, previous.CHART, CASES[case])
    assert code == 0, text
    before, now = _selectors(Manifests(text)), _selectors(helm.run("-f", "-", given=json.dumps(CASES[case])))
    assert {key: now[key] for key in before if key in now} == {key: before[key] for key in before if key in now}
    gone = [name for kind, name in before.keys() - now.keys() if kind != "Job"]
    assert not gone


@pytest.mark.parametrize("case", ["minimal", "own-pool-by-csi"])
def test_reused_values_are_refused_by_name(helm: Helm, helm_other: Helm, reused: Path, case: str) -> None:
    for each in (helm, helm_other):
        code, text = _answer(each, reused, CASES[case])
        assert code
        assert "--reset-then-reuse-values" in text
        assert "nil pointer" not in text
        assert "nothing was changed" in text


def test_each_missing_default_is_taken_or_refused_by_name(helm: Helm, tmp_path: Path) -> None:
    """A later chart's reused values lack one key or another, but not schemaVersion."""
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    for key in ("hooks", "curvine", "observability", "inferenceOperator", "gateway", "modelStore"):
        chart = tmp_path / key
        shutil.copytree(CHART, chart)
        (chart / "values.yaml").write_text(
            yaml.safe_dump({name: value for name, value in defaults.items() if name != key})
        )
        code, text = _answer(helm, chart, overlay())
        assert "nil pointer" not in text, key
        assert code == 0 or ("--reset-then-reuse-values" in text and "nothing was changed" in text), text


CHANGES: dict[str, Json] = {
    "source": model(source={"claim": {"name": "others", "subPath": "another"}}),
    "hub": model(source={"claim": None, "huggingFace": {"id": "a/b", "revision": "0" * 40}}),
    "revision": model(source={"claim": None, "huggingFace": {"id": "a/b", "revision": "1" * 40}}),
    "served name": model(servedName="org/Other"),
    "line of business": {"lineOfBusiness": "wealth"},
    "engine": model(engine={"maxModelLen": 2048, "args": ["--seed", 1]}),
    "Pods' labels": model(podLabels={"team": "retail"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_selectors_do_not_change(helm: Helm, change: str) -> None:
    now = _selectors(helm.template(CHANGES[change]))
    for key, selector in _selectors(helm.template()).items():
        assert now[key] == selector


def test_selectors_do_not_change_with_the_version(helm: Helm, tmp_path: Path) -> None:
    later = tmp_path / "tiered-kv-cache"
    shutil.copytree(CHART, later)
    about = later / "Chart.yaml"
    about.write_text(about.read_text().replace("version: 0.2.0", "version: 9.9.9").replace('"0.2.0"', '"9.9.9"'))
    code, text = _answer(helm, later, overlay())
    assert code == 0, text
    assert "9.9.9" in text
    assert _selectors(Manifests(text)) == _selectors(helm.template())
    # Nor the Pods: a release of the chart alone restarts no engine.
    assert [*containers(Manifests(text).objects)] == [*containers(helm.template().objects)]


def test_versions_agree() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"]
    changes = (CHART.parents[1] / "CHANGELOG.md").read_text()
    assert f"## [{about['version']}]" in changes
    before = previous.CHART.name.removeprefix("tiered-kv-cache-").removesuffix(".tgz")
    assert before != about["version"]
    assert f"## [{before}]" in changes
