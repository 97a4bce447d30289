"""`make plan`: what it takes from the environment, what it refuses, and that its hints name what the user can type."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from local_cluster.problem import Problem
from planning.__main__ import SAID, cluster_options, main, settings, verb
from tiered_kv_cache import plan
from tiered_kv_cache.plan.said import ENVIRONMENT, said

HELM = """#!/bin/sh
# Prints its words, and what a render would; fails as Helm does where it is told to.
echo "$@" >> "$0.called"
test -z "$REFUSED" || { echo "$REFUSED" >&2; exit 1; }
cat <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
END
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "retail.yaml"
    made.write_text("lineOfBusiness: retail\n")
    return made


@pytest.fixture
def helm(tmp_path: Path) -> Path:
    made = tmp_path / "helm"
    made.write_text(HELM)
    made.chmod(0o755)
    return made


def test_release_and_namespace_are_the_files_name(file: Path) -> None:
    assert settings({"LOB": str(file)}) == ([file], "retail", "retail")
    given = {"LOB": str(file), "RELEASE": "one", "NAMESPACE": "two", "OVER": str(file)}
    assert settings(given) == ([file, file], "one", "two")
    assert settings({"LOB": str(file), "RELEASE": "one"})[2] == "one"


@pytest.mark.parametrize(
    ("environment", "what", "fix"),
    [
        ({}, "LOB is not set", "make plan LOB="),
        ({"LOB": "nowhere.yaml"}, "nowhere.yaml is no file", "values/assistant.yaml"),
        ({"OVER": "nowhere.yaml"}, "nowhere.yaml is no file", "name a values file"),
        ({"RELEASE": "My_Team"}, "RELEASE is 'My_Team': a name", "set RELEASE=my-team"),
        ({"RELEASE": "a" * 54}, "at most 53", f"set RELEASE={'a' * 53}"),
        ({"RELEASE": "___"}, "RELEASE is '___'", "set RELEASE=retail"),
        ({"NAMESPACE": "Team A"}, "NAMESPACE is 'Team A': a name", "set NAMESPACE=team-a"),
        ({"NAMESPACE": "a" * 64}, "at most 63", f"set NAMESPACE={'a' * 63}"),
    ],
)
def test_refused(file: Path, environment: dict[str, str], what: str, fix: str) -> None:
    given = {"LOB": str(file), **environment} if environment else {}
    with pytest.raises(Problem) as refused:
        settings(given)
    assert what in refused.value.what
    assert fix in refused.value.fix


def test_a_file_whose_name_is_no_release(tmp_path: Path) -> None:
    odd = tmp_path / "My_Team.yaml"
    odd.touch()
    with pytest.raises(Problem, match=r"RELEASE is 'My_Team', by the name of .*My_Team\.yaml: a name has at most 53"):
        settings({"LOB": str(odd)})
    assert settings({"LOB": str(odd), "RELEASE": "my-team"})[1:] == ("my-team", "my-team")


def test_a_namespace_has_no_dot(tmp_path: Path) -> None:
    dotted = tmp_path / "retail.v2.yaml"
    dotted.touch()
    with pytest.raises(Problem, match=r"NAMESPACE is 'retail\.v2', by the release's name: "):
        settings({"LOB": str(dotted)})
    assert settings({"LOB": str(dotted), "NAMESPACE": "retail"})[1:] == ("retail.v2", "retail")


def test_what_the_verb_is_told() -> None:
    assert verb("r", "n", {}) == ["plan", "-"]
    given = {"CONFIGS": "a=x b=y", "GPU_MEMORY": "44Gi", "NODE": "cpu=1", "JSON": "1", "KUBECONFIG": "k"}
    assert verb("r", "n", given) == [
        "plan", "-", "--config", "a=x", "--config", "b=y", "--gpu-memory", "44Gi", "--node", "cpu=1", "--json",
        "--release", "r", "--namespace", "n", "--kubeconfig", "k",
    ]  # fmt: skip


def test_helm_renders_alone_without_a_cluster_that_answers(tmp_path: Path) -> None:
    assert cluster_options({}) == []
    assert cluster_options({"KUBECONFIG": str(tmp_path / "nowhere")}) == []


def test_with_one_that_answers_it_renders_as_an_upgrade_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Answers:
        def path(self, path: str) -> dict[str, str]:
            assert path == "/version"
            return {}

    monkeypatch.setattr("planning.__main__.KubernetesCluster.connect", lambda given: given)
    monkeypatch.setattr("planning.__main__.Objects", lambda cluster, deadline: Answers())
    assert cluster_options({"KUBECONFIG": str(tmp_path)}) == ["--dry-run=server", "--is-upgrade"]


def test_hints_name_variables(file: Path, helm: Path, capfd: pytest.CaptureFixture[str]) -> None:
    environment = {**os.environ, "LOB": str(file), "HELM": str(helm)}
    environment.pop("KUBECONFIG", None)
    assert main(environment) == 0
    told = capfd.readouterr().out
    assert "plan of release retail in namespace retail" in told
    assert "give NODE with what one of them has" in told
    assert "nothing to compare with: give KUBECONFIG" in told
    assert "--" not in told
    assert f"-n retail -f {file}" in Path(f"{helm}.called").read_text()


def test_bad_variables_are_named_as_variables(file: Path, helm: Path, capfd: pytest.CaptureFixture[str]) -> None:
    environment = {**os.environ, "LOB": str(file), "HELM": str(helm)}
    environment.pop("KUBECONFIG", None)
    for name, value, wanted in (
        ("NODE", "much", "NODE='much' is no list"),
        ("GPU_MEMORY", "large", "GPU_MEMORY='large' is no size"),
        ("CONFIGS", "m=here", "CONFIGS=m=here: there is no model m"),
    ):
        assert main({**environment, name: value}) == 2
        assert wanted in capfd.readouterr().err


def test_helms_own_words_where_the_chart_refuses(
    file: Path, helm: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSED", "lineOfBusiness: what is wrong")
    assert main({"LOB": str(file), "HELM": str(helm)}) == 1
    captured = capfd.readouterr()
    assert "what is wrong" in captured.err
    assert captured.out == ""


def test_the_verb_alone_names_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert said("--node") == "--node"
    assert said("--config", "m=x") == "--config m=x"


def test_every_hint_of_the_verb_has_a_name_here() -> None:
    """An option that the help shows and that `make plan` cannot give is not hinted at."""
    folder = Path(plan.__file__).parent
    found = {each for file in folder.glob("*.py") for each in re.findall(r"said\([\"'](-[^\"']+)", file.read_text())}
    assert found == set(SAID)
