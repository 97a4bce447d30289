"""`make plan` against a release that runs, with Helm 3 and Helm 4: nothing for the same values, one field for one key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local_cluster.helm import Helm
from local_cluster.host import gotools
from local_cluster.settings import REPO

from .conftest import MODEL


def _plan(release: Helm, helm: str, *over: Path) -> dict[str, Any]:
    first, *others = release.values
    environment = {
        **os.environ,
        "LOB": str(first),
        "OVER": " ".join(str(each) for each in [*others, *over]),
        "RELEASE": release.release,
        "NAMESPACE": release.namespace,
        "KUBECONFIG": str(release.kubeconfig),
        "HELM": str(gotools.ensure_cli(helm)),
        "JSON": "1",
        "PYTHONPATH": f"{REPO}/tools:{REPO}/hooks",
    }
    done = subprocess.run(
        [sys.executable, "-m", "planning"], capture_output=True, text=True, env=environment, cwd=REPO, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("helm_of", ["helm", "helm3"])
def test_the_same_values_change_nothing(release: Helm, helm_of: str) -> None:
    found = _plan(release, helm_of)
    assert found["comparedWith"]
    assert found["changes"] == []


@pytest.mark.parametrize("helm_of", ["helm", "helm3"])
def test_one_key_is_one_field_of_the_deployment(release: Helm, helm_of: str, tmp_path: Path) -> None:
    over = tmp_path / "over.json"
    over.write_text(json.dumps({"models": {MODEL: {"replicas": 3}}}))
    changes = _plan(release, helm_of, over)["changes"]
    # What the release's own checks are told of its Pods changes, too.
    (change,) = [each for each in changes if each["kind"] == "Deployment"]
    assert change["what"] == "changed"
    assert change["fields"] == [{"path": "spec.replicas", "before": "2", "after": "3"}]
