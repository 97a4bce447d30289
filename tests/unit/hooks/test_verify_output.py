"""The table, and JSON that fits a termination message whatever happened."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tiered_kv_cache.engine import Completion
from tiered_kv_cache.findings import Finding
from tiered_kv_cache.metrics import Counters
from tiered_kv_cache.verify import jsonout, report
from tiered_kv_cache.verify.result import ModelResult, Result, Row

A, B = "demo-tiny-engine-5d9c6b7f8-abcde", "demo-tiny-engine-5d9c6b7f8-fghij"
PARIS = Completion(" Paris.", 200.0, 1900)


def good() -> Result:
    """One model whose L2 was proven, and whose L1 was not."""
    skip = Finding("model tiny: L1 on Pod " + B + ": not measured: because", "do this", ("kubectl do this",))
    model = ModelResult(
        "tiny",
        "tiny-chat",
        ["LMCache multiProcess", "router prefixaware"],
        1900,
        256,
        [A, B],
        {A: "worker", B: "worker2"},
        [
            Row("cold", A, "worker", 1000.0, PARIS, Counters(), ratio=1.0),
            Row("l2", B, "worker2", 200.0, PARIS, Counters(l2=1792, external=1792), same="equal", ratio=5.0),
            Row("l0", "", "").skip("off", "off: models.tiny.cache.l0.enabled is false"),
            Row("l1", B, "worker2").skip("L0 is in the way", "not measured: because"),
        ],
        skips=[skip],
        notes=[f"a note on Pod {A}"],
    )
    return Result([model], seconds=12.3)


def printed(result: Result) -> str:
    out = io.StringIO()
    report.print_result(result, out)
    return out.getvalue()


def test_the_whole_page() -> None:
    lines = [line.rstrip() for line in printed(good()).splitlines()]
    assert lines == [
        "Model tiny, called tiny-chat by clients: 2 Pods, LMCache multiProcess, router prefixaware",
        f"  Pod 1  {A}  on node worker",
        f"  Pod 2  {B}  on node worker2",
        "  Prompt  1900 tokens that no cache has seen; LMCache can give 1792: 7 whole chunks of 256",
        "  prompt tokens from    Pod  TTFT ms  vs cold  L0  L1    L2  answer  result",
        "─" * 94,
        "  cold, nothing cached    1     1000     1.0x   0   0     0  -       pass",
        "  L2, from another Pod    2      200     5.0x   0   0  1792  equal   pass",
        "  L1, the Pod's memory    2        -        -   -   -     -  -       skipped: L0 is in the way",
        "  L0, vLLM's own          -        -        -   -   -     -  -       skipped: off",
        "  skipped  L1 on Pod 2: not measured: because",
        "  do       do this",
        "             kubectl do this",
        "  note     a note on Pod 1",
        "  answer   ' Paris.'",
        "",
        "verify: passed; 1 of 1 models passed; not proven: L1 of tiny (L0 is in the way); 12 s",
    ]


LONG = "model-with-a-very-long-name-of-a-line-of-business"


def test_long_names_and_sentences_fit_and_commands_stay_whole() -> None:
    pods = [f"{LONG}-engine-5d9c6b7f8-{x * 5}" for x in "abcdefghijkl"]
    node = "ip-10-0-123-45.eu-central-1.compute.internal"
    rows = [
        Row("cold", pods[0], node, 123456.7, PARIS, Counters(), ratio=1.0, verdict="fail", why="found, not loaded"),
        *(
            Row("l2", p, node, 12345.6, PARIS, Counters(l2=1048576, external=1048576), same="near tie", ratio=1000.0)
            for p in pods[1:]
        ),
        Row("l1", pods[1], node).skip("L0 is in the way"),
    ]
    command = f"kubectl logs -n namespace {pods[1]} -c lmcache --tail=50"
    finding = Finding(f"model {LONG}: " + f"Pod {pods[1]} and Pod {pods[11]} " * 9, "mend it " * 30, (command,))
    text = printed(Result([ModelResult(LONG, "m" * 120, [], 1, 1, pods, dict.fromkeys(pods, node), rows, [finding])]))
    lines = text.splitlines()
    assert f"             {command}" in lines
    body = [line for line in lines if not line.startswith(("Model ", "  Pod ", "verify: ")) and "kubectl" not in line]
    assert max(len(line.rstrip()) for line in body) <= 100
    assert "…" not in text, "nothing is cut"
    assert sum(line.startswith("  L2, from another Pod") for line in lines) == 11
    assert "Pod 2 and Pod 12 Pod 2" in text, "names do not begin each other's numbers"
    assert f"verify: FAILED with 1 finding; 0 of 1 models passed; failed: {LONG}" in lines[-1]


def test_findings_are_literal_and_of_no_model_come_last() -> None:
    text = printed(
        Result(
            [ModelResult("tiny", findings=[Finding("[bold]not markup[/bold]", "mend it")])],
            [Finding("cluster", "look")],
        )
    )
    assert text.splitlines() == [
        "Model tiny: 0 Pods",
        "  FAIL     [bold]not markup[/bold]",
        "  do       mend it",
        "",
        "  FAIL     cluster",
        "  do       look",
        "verify: FAILED with 2 findings; 0 of 1 models passed; failed: tiny; 0 s",
    ]


def test_numbers_of_either_tier_are_marked() -> None:
    result = good()
    row = result.models[0].rows[1]
    row.lmcache, row.counters = "either", Counters(loaded=1792, external=1792)
    assert "0  1792?  1792?" in printed(result)
    assert jsonout.document(result)["models"][0]["tiers"][1]["hitTokens"] == {"l0": 0, "l1": 0, "l2": 0, "l1OrL2": 1792}


def test_summary_of_many() -> None:
    models = [ModelResult(f"m{i}", findings=[Finding("x", "y")]) for i in range(7)]
    models += [ModelResult("asleep", skipped=True), ModelResult("fine", warnings=[Finding("x", "y")])]
    assert report.summary(Result(models, seconds=3)) == (
        "verify: FAILED with 7 findings; 1 of 9 models passed; failed: m0, m1, m2, m3, m4 and 2 more; "
        "not measured: asleep; 1 warning; 3 s"
    )


def test_json() -> None:
    document = json.loads(jsonout.fitted(good()))
    assert document["ok"] is True
    model = document["models"][0]
    assert model["text"] == "Paris."
    assert model["tiers"][1] == {
        "tier": "l2",
        "pod": B,
        "node": "worker2",
        "ttftMs": 200.0,
        "ratio": 5.0,
        "hitTokens": {"l0": 0, "l1": 0, "l2": 1792},
        "same": "equal",
        "verdict": "pass",
        "why": "",
        "note": "",
    }
    assert model["tiers"][2]["hitTokens"] is None
    assert (model["tiers"][2]["tier"], model["tiers"][2]["why"]) == ("l1", "L0 is in the way")
    assert (model["verdict"], model["control"]) == ("pass", None)
    assert model["notMeasured"] == [f"model tiny: L1 on Pod {B}: not measured: because. Fix: do this; kubectl do this"]
    assert document["summary"] == printed(good()).splitlines()[-1]
    assert json.loads(jsonout.full(good())) == document


texts = st.text(max_size=20) | st.integers(0, 3000).map(lambda n: "ü" * n)
answers = st.builds(Completion, texts, st.just(1.0), st.none())
rows = st.builds(
    Row,
    st.sampled_from(["cold", "l2", "control"]),
    texts,
    texts,
    st.none() | st.floats(0, 1e6),
    st.none() | answers,
    note=texts,
    why=texts,
)
found = st.lists(st.builds(Finding, texts, texts, st.tuples(texts)), max_size=30)
models = st.builds(
    ModelResult,
    texts,
    texts,
    prompt_tokens=st.integers(0, 10**6),
    pods=st.lists(texts, max_size=20),
    rows=st.lists(rows, max_size=20),
    findings=found,
    warnings=found,
    skips=found,
    notes=st.lists(texts, max_size=5),
)


@given(st.builds(Result, st.lists(models, max_size=20), found))
def test_json_always_fits(result: Result) -> None:
    out = jsonout.fitted(result)
    assert len(out.encode()) <= 4000
    assert json.loads(out)["ok"] is result.ok


def test_many_models_keep_their_rows_without_places() -> None:
    result = Result([replace(good().models[0], name=f"model-{i}") for i in range(4)])
    document = json.loads(jsonout.fitted(result))
    assert [[row["tier"] for row in m["tiers"]] for m in document["models"]] == [["cold", "l2", "l1", "l0"]] * 4
    assert document["models"][3]["tiers"][1] == {
        "tier": "l2", "ttftMs": 200.0, "ratio": 5.0, "hitTokens": {"l0": 0, "l1": 0, "l2": 1792}, "verdict": "pass", "why": "",
    }  # fmt: skip


def test_a_long_run_keeps_its_first_findings() -> None:
    result = Result(
        [
            ModelResult(
                f"model-{i}",
                prompt_tokens=1900,
                pods=[f"pod-{j}" * 5 for j in range(8)],
                rows=good().models[0].rows * 4,
                findings=[Finding("y" * 500, "z")] * 9,
            )
            for i in range(3)
        ]
    )
    document = json.loads(jsonout.fitted(result))
    assert [m["model"] for m in document["models"]] == ["model-0", "model-1", "model-2"]
    assert all(m["findings"][0].startswith("yyy") for m in document["models"])
    assert all("more; see the log" in m["findings"][-1] for m in document["models"])
