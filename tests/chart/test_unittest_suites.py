"""The helm-unittest suites in the chart, for those who work on it with helm alone."""

from __future__ import annotations

import os
import subprocess

import pytest

from chart.helm import CHART


def test_suites_pass() -> None:
    binary = os.environ.get("HELM_UNITTEST")
    if not binary:
        pytest.skip("HELM_UNITTEST is not set; `make chart` sets it")
    done = subprocess.run([binary, "--strict", str(CHART)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
