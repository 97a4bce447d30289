"""The table, and JSON that fits a termination message whatever happened."""

from __future__ import annotations

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from tiered_kv_cache.findings import Finding
from tiered_kv_cache.metrics import Counters
from tiered_kv_cache.verify import jsonout, report
from tiered_kv_cache.verify.result import ModelResult, Result, Row

GOOD = Result(
    [
        ModelResult(
            "tiny",
            1900,
            ["demo-tiny-engine-5d9c6b7f8-abcde", "demo-tiny-engine-5d9c6b7f8-fghij"],
            [
                Row("cold", "demo-tiny-engine-5d9c6b7f8-abcde", "worker", 1000.0, " Paris.", Counters()),
                Row(
                    "l2",
                    "demo-tiny-engine-5d9c6b7f8-fghij",
                    "worker2",
                    200.0,
                    " Paris.",
                    Counters(l2=1792, external=1792),
                ),
                Row("l1", "demo-tiny-engine-5d9c6b7f8-fghij", "worker2", note="not measured: because"),
            ],
            notes=["a note"],
        )
    ]
)


def printed(result: Result) -> str:
    out = io.StringIO()
    report.print_result(result, out)
    return out.getvalue()


def test_table() -> None:
    text = printed(GOOD)
    row = next(line for line in text.splitlines() if "worker2" in line)
    assert [c.strip() for c in row.strip("│").split("│")] == [
        "tiny",
        "L2",
        "demo-tiny-engine-5d9c6b7f8-fghij",
        "worker2",
        "200",
        "5.0x",
        "1900",
        "0",
        "0",
        "1792",
    ]
    assert "note: model tiny: a note" in text
    assert "note: model tiny: L1 on Pod demo-tiny-engine-5d9c6b7f8-fghij: not measured: because" in text
    assert "text: model tiny: ' Paris.'" in text
    assert text.endswith("verify: passed\n")


def test_findings_are_printed_unwrapped_and_literally() -> None:
    long = "x" * 300 + " [bold]not markup[/bold]"
    text = printed(Result([ModelResult("tiny", findings=[Finding(long, "mend it")])], [Finding("cluster", "look")]))
    lines = text.splitlines()
    assert lines == [
        "FAILED 1/2: cluster",
        "    fix: look",
        f"FAILED 2/2: {long}",
        "    fix: mend it",
        "verify: FAILED with 2 findings",
    ]


def test_json() -> None:
    document = json.loads(jsonout.fitted(GOOD))
    assert document["ok"] is True
    model = document["models"][0]
    assert model["text"] == "Paris."
    assert model["tiers"][1] == {
        "tier": "l2",
        "pod": "demo-tiny-engine-5d9c6b7f8-fghij",
        "node": "worker2",
        "ttftMs": 200.0,
        "hitTokens": {"l0": 0, "l1": 0, "l2": 1792},
        "note": "",
    }
    assert model["tiers"][2]["hitTokens"] is None
    assert json.loads(jsonout.full(GOOD)) == document


texts = st.text(max_size=3000)
rows = st.builds(
    Row, st.sampled_from(["cold", "l2"]), texts, texts, st.none() | st.floats(0, 1e6), st.none() | texts, note=texts
)
found = st.lists(st.builds(Finding, texts, texts), max_size=30)
models = st.builds(
    ModelResult, texts, st.integers(0, 10**6), st.lists(texts, max_size=20), st.lists(rows, max_size=20), found
)


@given(st.builds(Result, st.lists(models, max_size=20), found))
def test_json_always_fits(result: Result) -> None:
    out = jsonout.fitted(result)
    assert len(out.encode()) <= 4000
    assert json.loads(out)["ok"] is result.ok


def test_a_long_run_keeps_its_first_findings() -> None:
    result = Result(
        [
            ModelResult(
                f"model-{i}",
                1900,
                [f"pod-{j}" * 5 for j in range(8)],
                GOOD.models[0].rows * 4,
                [Finding("y" * 500, "z")] * 9,
            )
            for i in range(3)
        ]
    )
    document = json.loads(jsonout.fitted(result))
    assert [m["model"] for m in document["models"]] == ["model-0", "model-1", "model-2"]
    assert all(m["findings"][0].startswith("yyy") for m in document["models"])
    assert all("more; see the log" in m["findings"][-1] for m in document["models"])
