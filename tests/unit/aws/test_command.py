"""Configuration in, table, JSON and exit code out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tiered_kv_cache import __main__ as program
from tiered_kv_cache.aws import command, report
from tiered_kv_cache.aws.changes import Unreadable, differences, laid_over, parsed
from tiered_kv_cache.aws.config import Addon, parse
from tiered_kv_cache.findings import UsageError

from .account import CLUSTER, REGION, Account, Json

WANTED: Json = {"region": REGION, "clusterName": "hp", "addons": [{"name": "metrics-server"}]}


@pytest.fixture
def config(account: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file for --config; clients are the account's."""
    monkeypatch.setattr(command, "clients", lambda region: account.clients.__getitem__)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(WANTED))
    return file


def dry(account: Account) -> None:
    account.cluster()
    account.allows(("sagemaker:UpdateCluster", CLUSTER))
    account.no_addon("metrics-server")
    account.allows(("eks:CreateAddon", f"arn:aws:eks:{REGION}:123456789012:cluster/kv"))


def test_a_table_with_before_after_and_the_call(
    account: Account, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dry(account)
    assert program.main(["aws", "--config", str(config)]) == 0
    shown = capsys.readouterr().out
    assert "as arn:aws:sts::123456789012:assumed-role/bootstrap/session" in shown
    assert "TieredStorageConfig.InstanceMemoryAllocationPercentage: (none) -> 20" in shown
    assert (
        'call     sagemaker:UpdateCluster {"ClusterName": "hp", "NodeRecovery": "Automatic", "TieredStorageConfig"'
        in shown
    )
    assert (
        'call     eks:CreateAddon {"addonName": "metrics-server", "clusterName": "kv", "resolveConflicts": "PRESERVE"}'
        in shown
    )
    assert "aws: passed; 2 would change; 0 s (dry run: nothing was changed" in shown.splitlines()[-1]


def test_json(account: Account, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dry(account)
    assert program.main(["aws", "--config", str(config), "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["ok"], found["apply"]) == (True, False)
    assert [step["state"] for step in found["steps"]] == ["would change", "would change"]
    assert found["steps"][1]["call"]["operation"] == "CreateAddon"
    assert "aws: passed" in err


def test_a_failure_is_1_and_the_message_begins_with_it(
    account: Account, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[str] = []
    monkeypatch.setattr(command, "leave_message", left.append)
    account.cluster("Failed", FailureMessage="no capacity")
    assert program.main(["aws", "--config", str(config), "--apply"]) == 1
    assert "FAIL     cluster hp is Failed: no capacity\ndo       mend it first" in capsys.readouterr().out
    assert left[0].startswith("aws: FAILED; 1 not tried, 1 FAILED; 0 s\nFAIL: cluster hp is Failed: no capacity. Fix:")
    assert len(left[0]) <= report.MOST_MESSAGE


@pytest.mark.parametrize(
    ("flags", "given", "applied"), [([], True, True), (["--dry-run"], True, False), (["--apply"], False, True)]
)
def test_flags_go_before_the_configuration(
    monkeypatch: pytest.MonkeyPatch, flags: list[str], given: bool, applied: bool
) -> None:
    seen: list[Any] = []

    def run(settings: Any, *_: Any) -> Any:
        seen.append(settings)
        raise UsageError("enough")

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command, "clients", lambda region: None)
    monkeypatch.setenv("TKC_AWS", json.dumps(WANTED | {"apply": given}))
    assert program.main(["aws", *flags, "--deadline", "7"]) == 2
    assert (seen[0].apply, seen[0].deadline) == (applied, 7)


def test_all_faults_of_the_configuration_are_told_together() -> None:
    bad = {
        "region": "mars", "clusterName": "", "eksClusterName": "a b", "tieredStorage": {"percentage": 101, "x": 1},
        "accessKeyId": "AKIA", "apply": "yes", "deadlineSeconds": 0,
        "addons": [
            {"name": "amazon-sagemaker-hyperpod-inference", "resolveConflicts": "FORCE"}, {"name": "cert-manager"},
            {"name": "", "serviceAccountRoleArn": "x"}, {"name": "cert-manager", "configuration": []}, 5,
        ],
    }  # fmt: skip
    with pytest.raises(UsageError) as refused:
        parse(json.dumps(bad), "TKC_AWS")
    lines = str(refused.value).splitlines()
    wanted = (
        'region is "mars"', 'clusterName is ""', 'eksClusterName is "a b"', "percentage is 101", "tieredStorage: unknown key x",
        "unknown key accessKeyId", 'apply is "yes"', "deadlineSeconds is 0", 'resolveConflicts is "FORCE"', 'name is ""',
        'serviceAccountRoleArn is "x"', "configuration is []", "addons[4] is 5", "addons has cert-manager twice",
        "addons has cert-manager, cert-manager behind amazon-sagemaker-hyperpod-inference",
    )  # fmt: skip
    for text in wanted:
        assert [line for line in lines if text in line and "Fix: " in line], text
    assert len(lines) == len(wanted)


@pytest.mark.parametrize("text", ["", "[]", '{"tieredStorage": 5, "region": "eu-west-1", "clusterName": "hp"}'])
def test_no_configuration(text: str) -> None:
    with pytest.raises(UsageError, match="Fix: give"):
        parse(text, "TKC_AWS")


def test_a_file_that_is_not_there() -> None:
    assert program.main(["aws", "--config", "/nowhere"]) == 2


def test_defaults() -> None:
    found = parse(json.dumps(WANTED), "x")
    assert (found.percentage, found.apply, found.deadline) == (20, False, 1800)
    assert found.addons == (Addon("metrics-server", configuration={}),)


def test_other_verbs_do_not_load_boto3() -> None:
    code = "import sys, tiered_kv_cache.__main__ as m; m._parser(); assert not {'boto3', 'botocore'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(Path(program.__file__).parents[1])})


def test_objects_merge_and_lists_replace() -> None:
    before = {"a": {"x": 1, "l": [1, 2]}, "b": "y"}
    after = laid_over(before, {"a": {"l": [3]}, "c": None})
    assert after == {"a": {"x": 1, "l": [3]}, "b": "y", "c": None}
    assert before == {"a": {"x": 1, "l": [1, 2]}, "b": "y"}
    assert [str(change) for change in differences(before, after, "")] == ["a.l: [1, 2] -> [3]"]


def test_true_is_not_one() -> None:
    assert len(differences({"a": 1}, {"a": True}, "")) == 1


def test_configuration_of_an_addon_is_json_or_yaml() -> None:
    assert parsed(None) == parsed("") == {}
    assert parsed('{"a": [1]}') == parsed("a:\n- 1\n") == {"a": [1]}
    for text in ("[1]", "a: [", "text"):
        with pytest.raises(Unreadable):
            parsed(text)
