"""Values for another version of the chart: a newer one's are refused, and keys that are gone are told with what to write instead.

The chart has no such key yet, so the table is tried in a copy of the chart with entries of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.helm import CHART, Helm, Json, merged, model, overlay
from schema import generate

TABLE: Json = yaml.safe_load((CHART / "files" / "changed-keys.yaml").read_text())
NOW: int = TABLE["schemaVersion"]
ENTRIES: list[Json] = [
    {"key": "l2.volume.pvc", "since": NOW + 1, "now": "l2.volume.claimName", "why": "one name for claims"},
    {
        "key": "defaults.engine.gpus",
        "since": NOW + 1,
        "now": "defaults.engine.tensorParallelSize",
        "why": "vLLM's name",
    },
    {"key": "hooks.warm", "since": NOW + 1, "why": "helm test warms, too"},
    {"key": "l2.keeper.ttl", "since": NOW + 1, "meaning": True, "why": "it counts from the last use"},
]


def test_the_chart_knows_its_own_version() -> None:
    assert yaml.safe_load((CHART / "values.yaml").read_text())["schemaVersion"] == NOW
    assert all(entry.keys() <= {"key", "since", "now", "meaning", "why"} for entry in TABLE["keys"])


@pytest.mark.parametrize("given", [{}, {"schemaVersion": NOW}, {"schemaVersion": float(NOW)}])
def test_own_version_is_taken(helm: Helm, given: Json) -> None:
    assert helm.template(given).text == helm.template().text


@pytest.mark.parametrize("more", [{}, {"keyOfTomorrow": {"a": 1}}, {"l2": [1], "models": {"tiny": {"engine": 7}}}])
def test_a_newer_file_is_refused_before_its_keys(helm: Helm, helm_other: Helm, more: Json) -> None:
    for each in (helm, helm_other):
        each.assert_refused(
            {"schemaVersion": NOW + 1, **more},
            [f"schemaVersion: {NOW + 1}", "written for a newer chart", f"knows schemaVersion {NOW}"],
        )


@pytest.mark.parametrize("text", ["2", 0, 1.5])
def test_no_version(helm: Helm, text: Any) -> None:
    assert "schemaVersion" in helm.refusal({"schemaVersion": text})


@pytest.fixture(scope="module")
def later(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the chart in which keys have changed."""
    copy = tmp_path_factory.mktemp("later") / "tiered-kv-cache"
    shutil.copytree(CHART, copy)
    changes = yaml.safe_dump({"schemaVersion": NOW + 1, "keys": ENTRIES})
    (copy / "files" / "changed-keys.yaml").write_text(changes)
    values = (copy / "values.yaml").read_text().replace(f"schemaVersion: {NOW}", f"schemaVersion: {NOW + 1}")
    (copy / "values.yaml").write_text(values)
    schema = generate.generate((copy / "values.schema.yaml").read_text(), values, changes)
    (copy / "values.schema.json").write_text(schema)
    return copy


def _answer(helm: Helm, chart: Path, *layers: Json) -> tuple[int, str]:
    command = [helm.path, "template", "demo", str(chart), "-f", "-"]
    done = subprocess.run(command, input=json.dumps(overlay(*layers)), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_keys_that_are_gone_are_told_together_with_other_faults(helm: Helm, helm_other: Helm, later: Path) -> None:
    gone = {"l2": {"volume": {"pvc": "kv"}}, "defaults": {"engine": {"gpus": 2}}, "hooks": {"warm": {"enabled": True}}}
    for each in (helm, helm_other):
        code, text = _answer(each, later, gone, model(replicas=0, engine={"gpus": 4}))
        assert code
        assert "5 faults in the values of release demo" in text, text
        for wanted in (
            '1. l2.volume.pvc: "kv"',
            f"why: l2.volume.claimName since schemaVersion {NOW + 1}: one name for claims",
            'before: {"l2":{"volume":{"pvc":"kv"}}}',
            'after:  {"l2":{"volume":{"claimName":"kv"}}}',
            "defaults.engine.gpus: 2",
            'after:  {"defaults":{"engine":{"tensorParallelSize":2}}}',
            "models.tiny.engine.gpus: 4",
            'after:  {"models":{"tiny":{"engine":{"tensorParallelSize":4}}}}',
            'hooks.warm: {"enabled":true}',
            "after:  (nothing)",
            "models.tiny.replicas: 0",
        ):
            assert wanted in text, text


def test_another_meaning_is_told_to_older_files_only(helm: Helm, later: Path) -> None:
    ttl = {"l2": {"keeper": {"ttl": "1h"}}}
    code, text = _answer(helm, later, {"schemaVersion": NOW}, ttl)
    assert code
    assert f'l2.keeper.ttl: "1h"\n   why: means something else since schemaVersion {NOW + 1}' in text
    for given in ({}, {"schemaVersion": NOW + 1}):
        assert _answer(helm, later, given, ttl)[0] == 0


def test_an_older_file_is_told_what_has_another_meaning_and_nothing_else(helm: Helm, later: Path) -> None:
    """A default counts, too: the file relies on it."""
    code, text = _answer(helm, later, {"schemaVersion": NOW})
    assert code
    assert "1 fault in the values" in text
    assert "l2.keeper.ttl" in text


def test_null_of_a_key_that_is_gone_means_nothing(helm: Helm, later: Path) -> None:
    assert _answer(helm, later, {"hooks": {"warm": None}})[0] == 0


FAULTS: dict[str, tuple[Json, str]] = {
    "still there": ({"key": "l2.mountPath", "since": 2, "why": "x"}, "l2.mountPath is still in the schema"),
    "no place": ({"key": "l3.mountPath", "since": 2, "why": "x"}, "l3.mountPath has no place in the schema"),
    "to nowhere": ({"key": "l2.a", "since": 2, "now": "l2.b", "why": "x"}, "l2.b is not in the schema"),
    "of tomorrow": ({"key": "l2.a", "since": 9, "why": "x"}, "raise schemaVersion"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_generator_judges_the_table(case: str) -> None:
    entry, wanted = FAULTS[case]
    source, values = ((CHART / name).read_text() for name in ("values.schema.yaml", "values.yaml"))
    with pytest.raises(generate.SchemaError, match=wanted):
        generate.generate(source, values, yaml.safe_dump({"schemaVersion": 2, "keys": [entry]}))


def test_unknown_keys_of_known_versions_are_helms_to_refuse(helm: Helm) -> None:
    message = helm.refusal(merged({"schemaVersion": NOW}, {"keyOfTomorrow": 1}))
    assert "additional properties 'keyOfTomorrow' not allowed" in message
