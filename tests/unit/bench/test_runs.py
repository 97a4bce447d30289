"""Whole runs against emulated engines: what is measured, what counters prove, what is written."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from emulators.engine import Faults
from router.engine import Engine as ChatEngine
from tiered_kv_cache import __main__
from tiered_kv_cache.bench import bench
from tiered_kv_cache.bench.record import Record

from .conftest import RELEASE, Release, bench_run, short

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "bench.schema.json").read_text())
FILES = ("speedup", "ttft", "dialogue", "load-closed", "load-open", "mix", "replay")


def conditions(record: Record, experiment: str) -> dict[str, int]:
    """Condition -> number of samples that count."""
    found: dict[str, int] = {}
    for sample in record.of(experiment):
        found[sample.key.condition] = found.get(sample.key.condition, 0) + 1
    return found


@pytest.fixture
def two(connected: Release) -> Release:
    for name in ("pod-a", "pod-b"):
        connected.add(name, faults=Faults(ms_per_token=0.01))
    return connected


def test_everything_is_measured_written_and_drawn(
    two: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([{"conversations": [{"from": "human", "value": "Hello?"}]}]))
    # The emulated engine has no chat: replay fails there, and the run says that it is not sound.
    code, record = bench_run(
        tmp_path / "out", *RELEASE, *short("sweep,dialogue,load,mix,replay", conversations=file), "--variant", "ours"
    )
    assert code == 1
    raw = json.loads((tmp_path / "out" / "result.json").read_text())
    jsonschema.validate(raw, SCHEMA)
    assert raw["variant"] == record.variant == "ours"
    sweep = conditions(record, "sweep")
    assert {c: sweep[c] for c in ("cold", "control", "l2", "l1", "l0")} == dict.fromkeys(
        ("cold", "control", "l2", "l1", "l0"), 4
    )
    for sample in record.of("sweep"):
        assert sample.proven is True and sample.tokens is not None
        whole = (sample.key.size or 0) // 256 * 256
        if sample.key.condition in ("l1", "l2"):
            assert getattr(sample.tokens, sample.key.condition) == whole
    assert conditions(record, "dialogue") == {"cold": 8, "first": 8, "again": 8}
    assert {(lv.key.loop, lv.key.load) for lv in record.levels if lv.key.experiment == "load"} == {
        ("closed", 1.0), ("closed", 4.0), ("open", 40.0),
    }  # fmt: skip
    shared = [lv.tokens for lv in record.levels if lv.key.condition == "shared" and lv.key.experiment == "load"]
    assert all(tokens and tokens.l0 + tokens.l1 + tokens.l2 > 0 for tokens in shared)
    cold = [lv.tokens for lv in record.levels if lv.key.condition == "cold"]
    assert all(tokens and tokens.l0 + tokens.l1 + tokens.l2 == 0 for tokens in cold)
    names = {f.name for f in (tmp_path / "out").iterdir()}
    assert {f"{n}.{end}" for n in FILES if n != "replay" for end in ("svg", "png")} <= names
    speedup = (tmp_path / "out" / "speedup.svg").read_text()
    assert "ours: L2, from another Pod" in speedup and "published: AWS walkthrough" in speedup
    assert "published 1.30x" in (tmp_path / "out" / "dialogue.svg").read_text()
    printed = capsys.readouterr()
    assert "bench: NOT SOUND; variant ours" in printed.out and "requests; " in printed.err
    # The same figures from the file alone.
    again = tmp_path / "again"
    assert __main__.main(["bench", "report", str(tmp_path / "out" / "result.json"), "--out", str(again)]) == 1
    assert (again / "speedup.svg").read_bytes() == (tmp_path / "out" / "speedup.svg").read_bytes()
    assert (again / "table.txt").read_text() == (tmp_path / "out" / "table.txt").read_text()
    capsys.readouterr()
    two_files = [str(tmp_path / "out" / "result.json")] * 2
    assert __main__.main(["bench", "compare", *two_files]) == 0
    compared = capsys.readouterr().out
    assert "sweep l2" in compared and "1.00" in compared and "warning" not in compared


def test_a_place_is_asked_when_the_other_has_come_to_rest(
    two: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def quick(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0 if seconds > 1e5 else seconds)

    monkeypatch.setattr(bench, "SPIN_SECONDS", 1e6)
    monkeypatch.setattr(asyncio, "sleep", quick)
    code, record = bench_run(tmp_path / "out", *RELEASE, *short("sweep"))
    assert code == 0
    places = [sample.place for sample in record.of("sweep")]
    assert sum(wait > 1e5 for wait in waits) == sum(a != b for a, b in pairwise(places)) > 0


def test_two_pods_that_do_not_share(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a")
    connected.add("pod-b", l2_dir=tmp_path / "other")
    code, record = bench_run(tmp_path / "out", *RELEASE, *short("sweep"))
    assert code == 1
    assert "l2" not in conditions(record, "sweep")
    assert [s.proven for s in record.samples if s.key.condition == "l2"] == [False] * 4


def test_one_pod_and_short_context(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a", max_model_len=700)
    _, record = bench_run(tmp_path / "out", *RELEASE, *short("sweep,dialogue", sizes="100,300,696"))
    gaps = {(g.experiment, g.what) for g in record.gaps}
    assert {("sweep", "l2"), ("sweep", "l1 of 100 tokens"), ("dialogue", "turns 2 to 4"), ("dialogue", "again")} <= gaps
    assert {s.key.size for s in record.of("sweep")} == {100, 300}


def test_other_requests_beside_it_prove_nothing(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a", faults=Faults(foreign_tokens=500))
    _, record = bench_run(tmp_path / "out", *RELEASE, *short("sweep", sizes="300", repetitions=1))
    assert {(s.proven, s.tokens) for s in record.samples} == {(None, None)}


def test_no_reset(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a", faults=Faults(dev_mode=False))
    code, record = bench_run(tmp_path / "out", *RELEASE, *short("sweep", sizes="300"))
    assert code == 0
    assert any(g.what == "l1" and "VLLM_SERVER_DEV_MODE" in g.why for g in record.gaps)


def test_the_same_seed_the_same_order_but_new_prompts(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a")
    connected.add("pod-b")
    one, two = (bench_run(tmp_path / name, *RELEASE, *short("sweep", seed=7))[1] for name in "ab")
    assert [s.key for s in one.samples] == [s.key for s in two.samples]
    assert [s.place for s in one.samples] == [s.place for s in two.samples]
    assert all(s.proven for s in two.samples)


def test_a_url_alone(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a")
    url = f"http://127.0.0.1:{connected.engines[0].vllm_port}/v1"
    code, record = bench_run(tmp_path / "out", "--url", url, *short("sweep,mix"))
    assert code == 0
    assert {"cold", "control", "l0"} == set(conditions(record, "sweep"))


def test_an_endpoint_that_is_no_vllm_and_a_replay(tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    talk = [
        {"from": "human", "value": "Hello?"},
        {"from": "gpt", "value": "Hello."},
        {"from": "human", "value": "Why?"},
    ]
    file.write_text(json.dumps([{"conversations": talk}, {"conversations": talk[:1]}]))
    engine = ChatEngine("127.77.0.9").start()
    try:
        code, record = bench_run(tmp_path / "out", "--url", engine.url, *short("sweep,replay", conversations=file))
    finally:
        engine.stop()
    assert code == 0
    assert conditions(record, "sweep") == {"cold": 4, "control": 4, "warm": 4}
    assert conditions(record, "replay") == {"first": 3, "again": 3}
    assert {s.proven for s in record.samples} == {None}
    asked = [len(s.body["messages"]) for s in engine.seen if "messages" in s.body]
    assert sorted(asked) == [1, 1, 1, 1, 3, 3], "each question once a pass, with all that was said before"
    assert (tmp_path / "out" / "replay.svg").exists()
