"""The verb verify from its arguments to its exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulators.cluster import FakeCluster, pod
from tiered_kv_cache import __main__, cluster
from tiered_kv_cache.cluster import ClusterError
from tiered_kv_cache.pods import Pod
from tiered_kv_cache.verify import command
from tiered_kv_cache.verify.command import go_with_the_release
from tiered_kv_cache.verify.reach import PodIp

from .conftest import Release

ARGS = ["verify", "--namespace", "kv", "--release", "demo"]


def settings(release: Release, **change: Any) -> str:
    model = {
        "name": "tiny",
        "servedName": "tiny",
        "replicas": 2,
        "chunkSize": 256,
        "l0": True,
        "l1": True,
        "l2": True,
        "deployment": "demo-tiny-engine",
        "l2Parent": str(release.root.parent),
        "configHash": "c0ffee",
    }
    return json.dumps({"models": [model | change], "promptTokens": 1900, "deadlineSeconds": 20, "minSpeedup": 0})


@pytest.fixture
def connected(pair: Release, monkeypatch: pytest.MonkeyPatch) -> Release:
    monkeypatch.setattr(cluster.KubernetesCluster, "connect", classmethod(lambda *_: pair.cluster))
    monkeypatch.setattr(command, "reach", lambda *_: PodIp())
    monkeypatch.setenv("TKC_VERIFY", settings(pair))
    return pair


def test_pass(connected: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "log"
    assert __main__.main([*ARGS, "--json-file", str(out)]) == 0
    assert json.loads(out.read_text())["ok"] is True
    printed = capsys.readouterr()
    assert "verify: passed" in printed.out
    assert "tiny: cold on Pod pod-a (1900 prompt tokens)" in printed.out
    assert printed.err == ""


def test_fail(connected: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TKC_VERIFY", settings(connected, configHash="ffff"))
    out = tmp_path / "log"
    assert __main__.main([*ARGS, "--json-file", str(out)]) == 1
    assert json.loads(out.read_text())["ok"] is False


def test_json_on_stdout(connected: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.json"
    config.write_text(settings(connected))
    assert __main__.main([*ARGS, "--config", str(config), "--json"]) == 0
    printed = capsys.readouterr()
    assert [t["tier"] for t in json.loads(printed.out)["models"][0]["tiers"]] == ["cold", "l2", "l1", "l0"]
    assert "verify: passed" in printed.err


def test_json_file_that_cannot_be_written(
    connected: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main([*ARGS, "--json-file", str(tmp_path / "no" / "log")]) == 0
    assert "warning: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "env", "part"),
    [
        ([], None, "there is nothing to verify. Fix: give --config FILE or set TKC_VERIFY"),
        ([], "{", "TKC_VERIFY is not JSON"),
        (["--config", "/nowhere"], None, "--config /nowhere cannot be read"),
        (["--deadline", "0"], "{}", "--deadline is 0. Fix: give at least 1 second"),
        (["--model", "tiny"], "{}", "--model tiny: no such model. Fix: give one of none"),
    ],
)
def test_usage(
    args: list[str], env: str | None, part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TKC_VERIFY", raising=False)
    if env is not None:
        monkeypatch.setenv("TKC_VERIFY", env)
    assert __main__.main([*ARGS, *args]) == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize("args", [[], ["nonsense"], ["verify"], ["l2-root"]])
def test_bad_arguments(args: list[str]) -> None:
    with pytest.raises(SystemExit) as err:
        __main__.main(args)
    assert err.value.code == 2


def test_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TKC_VERIFY", "{}")
    assert __main__.main([*ARGS, "--kubeconfig", str(tmp_path / "none")]) == 1
    assert "  FAIL     the cluster: no way into a cluster" in capsys.readouterr().out


def test_the_api_server_says_no(connected: Release, capsys: pytest.CaptureFixture[str]) -> None:
    def forbidden(_: int) -> None:
        raise cluster.ClusterError("may not list pods in namespace kv (403 Forbidden)", "install the chart's Role")

    connected.cluster.on_list = forbidden
    assert __main__.main(ARGS) == 1
    out = capsys.readouterr().out
    assert (
        "  FAIL     the cluster: may not list pods in namespace kv (403 Forbidden)\n"
        "  do       install the chart's Role\n" in out
    )


def test_a_pod_that_may_not_be_adopted_is_only_a_warning() -> None:
    class Refusing(FakeCluster):
        def adopt(self, namespace: str, pod: str) -> None:
            raise ClusterError("may not patch pods")

    said: list[str] = []
    go_with_the_release(Refusing([]), "ns", "demo-verify", said.append)
    assert said == ["warning: may not patch pods. Before helm uninstall, run: kubectl delete pod -n ns demo-verify"]


def test_outside_a_pod_nothing_is_adopted() -> None:
    cluster = FakeCluster([])
    go_with_the_release(cluster, "ns", "", print)
    assert cluster.adopted == []
    go_with_the_release(cluster, "ns", "demo-verify", print)
    assert cluster.adopted == [("ns", "demo-verify")]


def test_one_model_of_several(connected: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(settings(connected))
    told["models"].append(told["models"][0] | {"name": "absent"})
    monkeypatch.setenv("TKC_VERIFY", json.dumps(told))
    assert __main__.main([*ARGS, "--model", "tiny"]) == 0
    assert __main__.main([*ARGS, "--model", "absent", "--deadline", "1"]) == 1


def test_the_key_of_the_environment_is_used_and_never_printed(
    connected: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for engine in connected.engines:
        engine.key = "sk-secret"
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret")
    out = tmp_path / "log"
    assert __main__.main([*ARGS, "--json", "--json-file", str(out)]) == 0
    monkeypatch.setenv("VLLM_API_KEY", "sk-other")
    assert __main__.main([*ARGS, "--json"]) == 1
    printed = capsys.readouterr()
    assert "sk-" not in printed.out + printed.err + out.read_text()


def test_the_configuration_of_a_running_release_can_be_piped_in(
    connected: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(settings(connected)))
    monkeypatch.delenv("TKC_VERIFY")
    assert __main__.main([*ARGS, "--config", "-"]) == 0


@pytest.mark.parametrize(
    ("ip", "url"),
    [("10.244.1.7", "http://10.244.1.7:8000"), ("fd00:10:244::5", "http://[fd00:10:244::5]:8000")],
)
def test_addresses_of_both_families_make_urls(ip: str, url: str) -> None:
    raw = pod("pod-a")
    raw["status"]["podIP"] = ip
    assert PodIp().url(Pod.parse(raw), 8000) == url
    assert httpx.URL(url).host == ip
