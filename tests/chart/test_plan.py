"""The verb plan reads what each values file renders, for both platforms, and says what stands in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.cases import CASES, VALUES_FILES
from chart.helm import Helm, Manifests
from tiered_kv_cache.__main__ import OK, main
from tiered_kv_cache.keeper.units import size
from tiered_kv_cache.preflight.amounts import of_pod
from tiered_kv_cache.preflight.config import parse

QWEN2_7B = {
    "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "num_hidden_layers": 28,
    "num_key_value_heads": 4, "torch_dtype": "bfloat16",
}  # fmt: skip
TOKEN_BYTES = {"bfloat16": 57344, "float32": 114688, "auto": 57344}
"""Of this shape, by --dtype."""
ENGINES = ("engine", "endpoint")
THEIR_SERVER = "local-on-hyperpod"
NAMES = [name for file in VALUES_FILES for name in (file.stem, f"{file.stem}-on-hyperpod") if name in CASES]


def planned(manifests: Manifests, folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    file = folder / "manifests.yaml"
    file.write_text(manifests.text)
    assert main(["plan", str(file), "--json", *arguments]) == OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("case", NAMES)
def test_of_each_values_file(helm: Helm, case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifests = helm.run("-f", "-", given=json.dumps(CASES[case]))
    (tmp_path / "config.json").write_text(json.dumps(QWEN2_7B))
    models = CASES[case].get("models") or {}
    shapes = [word for name in models for word in ("--config", f"{name}={tmp_path}")]
    plan = planned(manifests, tmp_path, capsys, *shapes)
    assert {each["name"] for each in plan["models"]} == set(models)
    # LMCache's server is the operator's there: its L1 and what it asks for stand in no manifest.
    for each in [] if case == THEIR_SERVER else plan["models"]:
        assert each["tokenBytes"] in TOKEN_BYTES.values(), each["why"]
        spec = models[each["name"]]
        l1 = spec.get("cache", {}).get("l1") or CASES[case].get("defaults", {}).get("cache", {}).get("l1")
        assert each["tiers"]["L1"]["bytes"] == size(l1["memory"])
        assert each["tiers"]["L1"]["tokens"] == size(l1["memory"]) // (
            each["tokenBytes"] * 256
        ) * 256 or case.startswith("documents")
        assert each["tiers"]["L2"]["bytes"] > 0
        assert each["lineOfBusiness"] == CASES[case]["lineOfBusiness"]
        assert each["maxModelLen"] >= 4096
    assert plan["changes"] is None


@pytest.mark.parametrize("case", NAMES)
def test_it_counts_as_preflight_is_told(
    helm: Helm, case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Preflight is told by the chart's values, plan reads the manifests: both name the same Pods, and what they ask for."""
    manifests = helm.run("-f", "-", given=json.dumps(CASES[case]))
    (job,) = [each for each in manifests.of("Job") if each["metadata"]["name"].endswith("-preflight")]
    (text,) = [
        each["value"]
        for each in job["spec"]["template"]["spec"]["containers"][0]["env"]
        if each["name"] == "TKC_PREFLIGHT"
    ]
    told = {each.name: each for each in parse(text, "the chart").workloads if not each.once}
    plan = {each["name"]: each for each in planned(manifests, tmp_path, capsys)["workloads"] if not each["eachNode"]}
    # The webhook of the L2 patch is not among what preflight counts.
    assert {name for name in plan if not name.endswith("-l2-patch")} == told.keys()
    for name, each in told.items():
        containers = [c for c in each.containers if case != THEIR_SERVER or c["name"] != "lmcache"]
        requests, limits = of_pod(containers, each.initContainers)
        assert plan[name]["least"] == each.replicas
        if plan[name]["least"] == plan[name]["most"]:
            assert plan[name]["surge"] == each.surge
        for seen, wanted in ((plan[name]["requests"], requests), (plan[name]["limits"], limits)):
            assert {resource: float(value) for resource, value in wanted.items()} == pytest.approx(seen)


def test_gpus_and_nodes_of_the_assistant(helm: Helm, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifests = helm.run("-f", "-", given=json.dumps(CASES["assistant"]))
    plan = planned(manifests, tmp_path, capsys, "--node", "cpu=15,memory=120Gi,nvidia.com/gpu=1")
    most = CASES["assistant"]["models"]["assistant"]["autoscaling"]["maxReplicas"]
    assert plan["requests"]["total"]["nvidia.com/gpu"] == most
    assert plan["nodes"] == {"steady": most, "rollout": most, "homeless": []}
    assert plan["models"][0]["gpus"] == 1


def test_an_upgrade_is_told_field_by_field(helm: Helm, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another L1 keeps the fingerprint, another chunk does not."""
    live = tmp_path / "live.yaml"
    before = [
        each for each in helm.run("-f", "-", given=json.dumps(CASES["documents"])).objects
        if "helm.sh/hook" not in each["metadata"].get("annotations", {})
    ]  # fmt: skip
    live.write_text(yaml.safe_dump_all(before))
    for path, changed in (
        ("models.documents.cache.l1.memory=150Gi", False),
        ("models.documents.cache.chunkSize=512", True),
    ):
        after = helm.run("-f", "-", "--set", path, given=json.dumps(CASES["documents"]))
        plan = planned(after, tmp_path, capsys, "--live", str(live))
        (engine,) = [each for each in plan["changes"] if each["name"] == "demo-documents-engine"]
        assert engine["what"] == "changed"
        assert ("another fingerprint" in engine["effect"]) == changed
        assert "Pods are replaced" in engine["effect"]
        assert {each["what"] for each in plan["changes"]} == {"changed"}
    same = helm.run("-f", "-", given=json.dumps(CASES["documents"]))
    assert planned(same, tmp_path, capsys, "--live", str(live))["changes"] == []
