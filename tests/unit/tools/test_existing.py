"""A cluster of the user's own is used only when it is named, and only through that one context."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from local_cluster import demo
from local_cluster.problem import Problem
from local_cluster.providers import existing, provider
from local_cluster.settings import Places

KUBECONFIG = {"current-context": "prod", "contexts": [{"name": "prod"}, {"name": "dev"}]}


@pytest.fixture
def _kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(yaml.safe_dump(KUBECONFIG))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setattr(existing, "PLACES", Places(tmp_path / "cache"))


@pytest.mark.usefixtures("_kubeconfig")
def test_the_named_context_is_the_only_one_used() -> None:
    where = provider("existing", "dev")
    assert yaml.safe_load(where.kubeconfig.read_text())["current-context"] == "dev"
    assert where.kubeconfig.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("_kubeconfig")
@pytest.mark.parametrize("context", ["", "nowhere"])
def test_no_context_is_guessed(context: str) -> None:
    with pytest.raises(Problem, match="prod, dev"):
        provider("existing", context)


@pytest.mark.usefixtures("_kubeconfig")
def test_own_values_are_needed() -> None:
    with pytest.raises(Problem, match="no values file for this cluster"):
        demo.up(provider("existing", "dev"))


def test_unknown_provider() -> None:
    with pytest.raises(Problem, match="minikube"):
        provider("minikube", "")
