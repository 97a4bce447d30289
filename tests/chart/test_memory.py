"""Memory: what must fit into which limit, with the arithmetic in the message, and the units of it."""

from __future__ import annotations

from typing import Any

import pytest

from chart.helm import Helm, Json, model, overlay


def _memory(engine: str, lmcache: str = "64Gi") -> Json:
    return model(
        resources={
            "engine": {"requests": {"memory": "1Gi"}, "limits": {"memory": engine}},
            "lmcache": {"requests": {"memory": "1Gi"}, "limits": {"memory": lmcache}},
        }
    )


def _engine(**changes: Any) -> Json:
    return model(engine=changes)


def _l1(memory: Any) -> Json:
    return model(cache={"l1": {"memory": memory}})


GPU: Json = _engine(device="cuda")
IN_PROCESS: Json = _engine(device="cuda", lmcacheMode="inProcess")

SUMS: dict[str, tuple[Json, str, str]] = {
    "cpu": (
        {},
        "L0 (engine.cpu.kvCacheSpaceGiB) 1Gi + L1 pages it writes (cache.l1.memory) 1Gi + rest of /dev/shm 0.25Gi + "
        "vLLM without weights 1.5Gi = 3.75Gi",
        "3840Mi",
    ),
    "cpu, two ranks": (
        _engine(tensorParallelSize=2),
        "L0 (engine.cpu.kvCacheSpaceGiB x 2 ranks) 2Gi + L1 pages it writes (cache.l1.memory) 1Gi + rest of /dev/shm 0.5Gi + "
        "vLLM without weights 2.5Gi = 6Gi",
        "6144Mi",
    ),
    "cpu, weights": (
        _engine(cpu={"weights": "2Gi"}),
        "vLLM without weights 1.5Gi + weights (engine.cpu.weights) 2Gi = 5.75Gi",
        "5888Mi",
    ),
    "cpu, shared memory": (
        _engine(shmSize="1Gi"),
        "rest of /dev/shm 1Gi + vLLM without weights 1.5Gi = 4.5Gi",
        "4608Mi",
    ),
    "cpu, no cache": (
        model(cache={"l1": {"enabled": False}, "l2": {"enabled": False}}),
        "L0 (engine.cpu.kvCacheSpaceGiB) 1Gi + rest of /dev/shm 0.25Gi + vLLM without weights 1.5Gi = 2.75Gi",
        "2816Mi",
    ),
    "cuda": (
        GPU,
        "L1 pages it writes (cache.l1.memory) 1Gi + rest of /dev/shm 1Gi + vLLM without weights 4Gi = 6Gi",
        "6144Mi",
    ),
    "cuda, TP x PP": (
        overlay(GPU, _engine(tensorParallelSize=2, pipelineParallelSize=2), _l1("60Gi")),
        "L1 pages it writes (cache.l1.memory) 60Gi + rest of /dev/shm 4Gi + vLLM without weights 13Gi = 77Gi",
        "78848Mi",
    ),
    "in-process": (
        overlay(IN_PROCESS, _l1("40Gi")),
        "L1 (cache.l1.memory) 40Gi + rest of /dev/shm 1Gi + vLLM without weights 4Gi = 45Gi",
        "46080Mi",
    ),
}


@pytest.mark.parametrize("case", SUMS)
def test_the_sum_fits_exactly_or_is_shown(helm: Helm, case: str) -> None:
    layer, wanted, least = SUMS[case]
    assert helm.template(layer, _memory(least)).objects
    less = f"{int(least.removesuffix('Mi')) - 1}Mi"
    message = helm.refusal(layer, _memory(less))
    assert message.count("why: ") == 1, message
    assert f"{wanted}, more than resources.engine.limits.memory: {less}" in message
    assert f"set models.tiny.resources.engine.limits.memory to {least} or more" in message


def test_weights_that_are_not_counted_are_named(helm: Helm) -> None:
    assert "or more plus the weights, or lower" in helm.refusal(_memory("1Gi"))
    assert "plus the weights" not in helm.refusal(_memory("1Gi"), _engine(cpu={"weights": "1Gi"}))
    assert "plus the weights" not in helm.refusal(_memory("1Gi"), GPU)


def test_the_server_s_limit(helm: Helm) -> None:
    layer = overlay(GPU, _l1("8Gi"))
    assert helm.template(layer, _memory("64Gi", "8704Mi")).objects
    message = helm.refusal(layer, _memory("64Gi", "8703Mi"))
    assert (
        "L1 (cache.l1.memory) 8Gi + LMCache server 0.5Gi = 8.5Gi, more than resources.lmcache.limits.memory" in message
    )
    # In-process there is no server.
    assert helm.template(layer, _engine(lmcacheMode="inProcess"), _memory("64Gi", "1Gi")).objects


def test_without_a_limit_nothing_is_compared(helm: Helm) -> None:
    assert helm.template(model(resources={"engine": {"limits": {"memory": None}}}), _l1("1Gi")).objects


REFUSED: dict[str, tuple[Json, list[str]]] = {
    "L1 of two ranks too small for each": (
        overlay(IN_PROCESS, _engine(tensorParallelSize=2), _l1("100Mi"), _memory("64Gi")),
        ['models.tiny.cache.l1.memory: "100Mi"', "less than 64Mi for each of 2 ranks", "give it 2Gi or more"],
    ),
    "thousandths of a byte of L1": (
        _l1("1000m"),
        ['models.tiny.cache.l1.memory: "1000m"', "thousandths of a byte", "write Mi"],
    ),
    "a fraction of a byte": (
        model(resources={"lmcache": {"requests": {"memory": 0.1}}}),
        ["models.tiny.resources.lmcache.requests.memory: 0.1", "not a whole number of bytes", "1Mi"],
    ),
    "a fraction of a byte in a unit": (
        model(resources={"lmcache": {"requests": {"memory": "0.3Gi"}}}),
        ['models.tiny.resources.lmcache.requests.memory: "0.3Gi"', "not a whole number of bytes", "308Mi"],
    ),
    "thousandths of a byte as a limit": (
        model(resources={"router": {"limits": {"memory": "300000000000m"}}}),
        ['models.tiny.resources.router.limits.memory: "300000000000m"', "thousandths of a byte", "write Mi"],
    ),
    "thousandths of a byte of storage": (
        model(resources={"lmcache": {"requests": {"ephemeral-storage": "1m"}}}),
        ['models.tiny.resources.lmcache.requests.ephemeral-storage: "1m"', "thousandths of a byte"],
    ),
    "thousandths of a byte in the hooks": (
        {"hooks": {"resources": {"limits": {"memory": "300000000000m"}}}},
        ["hooks.resources.limits.memory", "thousandths of a byte"],
    ),
    "shared memory no quantity": (
        _engine(shmSize="much"),
        ['models.tiny.engine.shmSize: "much"', "not a Kubernetes quantity", "1Gi"],
    ),
    "weights no quantity": (
        _engine(cpu={"weights": "13 GB"}),
        ['models.tiny.engine.cpu.weights: "13 GB"', "not a Kubernetes quantity", "1Gi"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    helm.assert_refused(*REFUSED[case])


def test_thousandths_of_a_core_are_fine(helm: Helm) -> None:
    assert helm.template(model(resources={"router": {"limits": {"cpu": "500m"}}})).objects
