"""The cluster suite's own judgement of a Pod, and its files of overrides."""

from __future__ import annotations

import json

import pytest

from cluster.hyperpod.machines import engines, sleepers
from cluster.hyperpod.patched import faults
from emulators.operator.options import Images, Json, Options
from emulators.operator.overrides import check
from tiered_kv_cache.patch.apply import patch

from .test_operator_patched import GUARDED, PARAMETERS, pod


@pytest.mark.parametrize("data", [PARAMETERS, GUARDED])
@pytest.mark.parametrize("version", ["3.2", "3.7"])
def test_a_patched_pod_has_no_faults_and_another_has(version: str, data: dict[str, str]) -> None:
    before = pod(version)
    after = patch(before, data, "default").pod
    assert faults(after) == []
    marked = {**before, "metadata": {**before["metadata"], "annotations": after["metadata"]["annotations"]}}
    for unpatched in (before, marked):
        assert len(faults(unpatched)) >= 3


@pytest.mark.parametrize("overrides", [engines(), sleepers("python")])
@pytest.mark.parametrize("version", ["3.2", "3.7"])
def test_overridden_pods_are_patched_as_well(version: str, overrides: Json) -> None:
    options = Options(version, images=Images(side="python", router="router"), overrides=check(overrides))
    given = pod(version, options=options)
    after = patch(given, GUARDED, "default").pod
    assert faults(after) == []
    assert json.dumps(after).count('"--l2-adapter"') == (version == "3.7")
