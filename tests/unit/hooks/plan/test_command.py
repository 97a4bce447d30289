"""The verb as people call it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tiered_kv_cache.__main__ import OK, USAGE, main

from .release import QWEN2_7B, QWEN2_7B_BYTES, engine, hook, keeper, router, text


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    file = tmp_path / "manifests.yaml"
    file.write_text(text(engine(replicas=2), router(), keeper(), hook()))
    return file


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(QWEN2_7B))
    return file


def test_for_people(manifests: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["plan", str(manifests), "--config", f"m={config}", "--node", "cpu=15,memory=120Gi,nvidia.com/gpu=1"])
        == OK
    )
    out = capsys.readouterr().out
    for wanted in ("r-m-engine", "2 nvidia.com/gpu", "56 KiB a token", "40 GiB", "748,800", "quota of retail: 100 GiB"):
        assert wanted in out, out
    assert "nodes        2, in a rollout 2" in out
    assert "changes: not known, nothing to compare with" in out


def test_as_json(
    manifests: Path, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    live = tmp_path / "live.yaml"
    live.write_text(text(engine(replicas=1), router()))
    monkeypatch.setattr("sys.stdin", io.StringIO(manifests.read_text()))
    assert main(["plan", "--json", "--config", f"m={config}", "--live", str(live)]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["models"][0]["tokenBytes"] == QWEN2_7B_BYTES
    assert found["models"][0]["tiers"]["L1"]["bytes"] == 40 << 30
    assert found["requests"]["total"]["nvidia.com/gpu"] == 2
    assert [(each["what"], each["name"]) for each in found["changes"]] == [
        ("added", "r-keeper-0"),
        ("changed", "r-m-engine"),
    ]
    assert found["changes"][1]["fields"] == [{"path": "spec.replicas", "before": "1", "after": "2"}]


def test_an_empty_file_is_a_release_that_is_not_there(
    manifests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = tmp_path / "live.yaml"
    live.write_text("")
    assert main(["plan", str(manifests), "--live", str(live)]) == OK
    assert "3 added, 0 changed, 0 removed" in capsys.readouterr().out


def test_without_a_cluster_the_plan_holds(manifests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = str(tmp_path / "kubeconfig")
    assert main(["plan", str(manifests), "--release", "r", "--namespace", "retail", "--kubeconfig", nowhere]) == OK
    assert "changes: not known, nothing to compare with: no way into a cluster" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("a: [", [], "is not YAML"),
        ("", [], "holds no object"),
        ("---\n---\n", [], "holds no object"),
        ("just text", [], "holds something that is no object"),
        ("lineOfBusiness: retail", [], "holds something that is no object"),
        ("{kind: Deployment, metadata: {name: x}}", [], "is not made by this chart"),
        (None, ["--config", "m"], "names no file"),
        (None, ["--config", "other=/x"], "there is no model other"),
        (None, ["--config", "m=/nowhere"], "cannot be read"),
        (None, ["--gpu-memory", "much"], "--gpu-memory 'much' is no size"),
        (None, ["--node", "cpu"], "--node 'cpu' is no list"),
        (None, ["--live", "/nowhere"], "--live /nowhere cannot be read"),
        (None, ["--live", "a", "--release", "b"], "compare with one of them"),
        (None, ["--release", "b"], "has no --namespace"),
        (None, ["--release", "b", "--namespace", "c", "--deadline", "0"], "--deadline is 0"),
    ],
)
def test_bad_input_is_refused_by_one_message(
    manifests: Path, capsys: pytest.CaptureFixture[str], content: str | None, arguments: list[str], message: str
) -> None:
    if content is not None:
        manifests.write_text(content)
    assert main(["plan", str(manifests), *arguments]) == USAGE
    err = capsys.readouterr().err
    assert err.count("error: ") == 1, err
    assert message in err
    assert "Fix: " in err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "/nowhere"]) == USAGE
    assert "/nowhere cannot be read" in capsys.readouterr().err
