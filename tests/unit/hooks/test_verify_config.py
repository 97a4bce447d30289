"""What verify is told, and what it says when it is told nonsense."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.verify import config

MODEL: dict[str, Any] = {
    "name": "tiny",
    "servedName": "tiny-chat",
    "replicas": 2,
    "chunkSize": 256,
    "l0": True,
    "l1": True,
    "l2": True,
    "deployment": "demo-tiny-engine",
    "l2Parent": "/mnt/kv-l2/v1/demo/tiny",
    "configHash": "c0ffee",
    "mode": "multiProcess",
    "ranks": 1,
    "strategy": "prefixaware",
    "dtype": "bfloat16",
}
GOOD: dict[str, Any] = {"models": [MODEL], "promptTokens": 1900, "deadlineSeconds": 600, "minSpeedup": 0}


def faults(raw: Any) -> list[str]:
    with pytest.raises(UsageError) as err:
        config.parse(raw if isinstance(raw, str) else json.dumps(raw), "TKC_VERIFY")
    return str(err.value).splitlines()


def test_good() -> None:
    settings = config.parse(json.dumps(GOOD), "TKC_VERIFY")
    assert (settings.prompt_tokens, settings.deadline_seconds, settings.min_speedup, settings.reset_l0) == (
        1900,
        600,
        0,
        "auto",
    )
    model = settings.models[0]
    assert (model.name, model.served_name, model.replicas, model.chunk_size) == ("tiny", "tiny-chat", 2, 256)
    assert (model.deployment, model.mode, model.in_process, model.ranks) == (
        "demo-tiny-engine",
        "multiProcess",
        False,
        1,
    )
    assert config.parse("{}", "x").models == ()


def test_autoscaled() -> None:
    text = json.dumps(GOOD | {"models": [MODEL | {"replicas": None, "minReplicas": 0}]})
    model = config.parse(text, "TKC_VERIFY").models[0]
    assert (model.autoscaled, model.replicas, model.min_replicas) == (True, None, 0)
    assert not config.parse(json.dumps(GOOD), "TKC_VERIFY").models[0].autoscaled


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"promptTokens": "1900"}, 'TKC_VERIFY: promptTokens is "1900". Fix: give a number of at least 1'),
        ({"deadlineSeconds": 0}, "TKC_VERIFY: deadlineSeconds is 0. Fix: give a number of at least 1"),
        ({"minSpeedup": True}, "minSpeedup is true"),
        ({"promptTokens": float("inf")}, "promptTokens is Infinity. Fix: give a number of at least 1"),
        ({"promptTokens": 1900.5}, "promptTokens is 1900.5. Fix: give a whole number"),
        ({"resetL0": "maybe"}, 'resetL0 is "maybe". Fix: give auto or never'),
        ({"models": {}}, "models is {}. Fix: give a list"),
        ({"models": ["x"]}, 'models[0] is "x". Fix: give an object'),
        ({"extra": 1}, "unknown key extra"),
        ({"promptTokens": 100}, "promptTokens 100 is less than one chunk of model tiny (256 tokens)"),
        (
            {"models": [MODEL | {"replicas": 0}]},
            "TKC_VERIFY: models[0]: replicas is 0. Fix: give a number of at least 1",
        ),
        ({"models": [MODEL | {"l2": "yes"}]}, 'models[0]: l2 is "yes". Fix: give true or false'),
        ({"models": [MODEL | {"l2Parent": ""}]}, 'models[0]: l2Parent is "". Fix: give what the chart rendered'),
        ({"models": [MODEL | {"configHash": ""}]}, 'models[0]: configHash is "". Fix: give what the chart rendered'),
        ({"models": [MODEL | {"mode": "both"}]}, 'models[0]: mode is "both". Fix: give multiProcess or inProcess'),
        ({"models": [MODEL | {"ranks": 0}]}, "models[0]: ranks is 0. Fix: give a number of at least 1"),
        (
            {"models": [{k: v for k, v in MODEL.items() if k != "replicas"}]},
            "models[0]: replicas is null. Fix: give a number of at least 1",
        ),
        ({"models": [MODEL | {"name": ""}]}, "models[0]: name is"),
        ({"models": [MODEL | {"l3": True}]}, "models[0]: unknown key l3"),
    ],
)
def test_faults(change: dict[str, Any], part: str) -> None:
    found = faults(GOOD | change)
    assert any(part in f for f in found), found


def test_all_faults_together() -> None:
    bad = {"models": [MODEL | {"replicas": 0}, MODEL | {"chunkSize": None}], "promptTokens": -1, "what": 1}
    assert len(faults(bad)) >= 4


@pytest.mark.parametrize("text", ["", "{", "null", "[]"])
def test_no_object(text: str) -> None:
    assert faults(text)[0].startswith("TKC_VERIFY ")


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
)


@given(st.sampled_from(sorted(GOOD)), st.sampled_from(sorted(MODEL)), scalars, scalars)
def test_any_value_is_read_or_refused(key: str, model_key: str, value: Any, model_value: Any) -> None:
    raw = GOOD | {"models": [MODEL | {model_key: model_value}]} | {key: value}
    try:
        config.parse(json.dumps(raw), "TKC_VERIFY")
    except UsageError as err:
        assert "Fix: " in str(err)
