"""Several L2 side by side: which rows are figures, which is the best peer, and what the verdict says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiered_kv_cache import __main__
from tiered_kv_cache.bench import peers
from tiered_kv_cache.bench.judge import MISSED, NOT_MEASURED, REACHED, SOUND, UNSOUND, Judgement
from tiered_kv_cache.bench.peers import Missing, Names, Peers, Row, put_together
from tiered_kv_cache.bench.record import COLD, L2, OWN, Key, Record, Sample, Tokens

from .conftest import RELEASE, Release, bench_run, short

AT = 1900


def record(
    variant: str, cold: float, hit: float = 0, *, n: int = 12, proven: bool | None = True, kind: str = L2
) -> Record:
    """A run with ``n`` repetitions at one size; times in milliseconds, a little apart."""
    made = Record(variant, "2026-01-01T00:00:00+00:00", {"seed": 1}, {}, {"served_name": "tiny"}, seconds=10)
    for at in range(n):
        wobble = 1 + at / 1000
        made.samples.append(Sample(Key("sweep", COLD, AT), at, 0.0, "pod-a", at, cold * wobble, cold * wobble + 50))
        if hit:
            tokens = Tokens(l2=1792 if proven else 0)
            made.samples.append(
                Sample(Key("sweep", kind, AT), at, 0.0, "pod-b", at, hit * wobble, None, tokens=tokens, proven=proven)
            )
    return made


def row(found: Peers, peer: str) -> Row:
    (made,) = [each for each in found.rows if each.peer == peer]
    return made


def verdict(found: Peers, part: str) -> Judgement:
    (made,) = [each for each in found.verdict.judgements if part in each.question]
    return made


def test_a_slower_machine_is_no_slower_l2() -> None:
    # fs was measured while all took twice as long; by its own cold it is as fast as ours.
    found = put_together([record("none", 1000), record("guarded", 1000, 100), record("fs", 2000, 200)], Names())
    ours = row(found, "fs").ours
    assert ours and round(ours.value, 6) == 1
    assert row(found, "guarded").ours is None
    part = row(found, "fs").part
    assert part and round(part.value, 6) == 0.1
    against = verdict(found, "best peer")
    assert against.verdict == MISSED and "the best is fs; TTFT 101 by 201 ms" in against.why


def test_the_best_peer_is_the_one_to_beat() -> None:
    records = [record("none", 1000), record("guarded", 1000, 70), record("fs", 1000, 300), record("redis", 1000, 100)]
    found = put_together([*records, record("none-again", 1001)], Names(), [Missing("lm", "none here")])
    against = verdict(found, "best peer")
    assert against.verdict == REACHED and "redis" in against.why
    assert against.ratio and round(against.ratio.value, 6) == 0.7
    assert verdict(found, "at the end as at the start").verdict == SOUND
    assert verdict(found, "storing costs").verdict == REACHED
    assert found.verdict.sound and found.document()["missing"] == [{"peer": "lm", "why": "none here"}]


def test_what_counters_do_not_show_is_no_hit() -> None:
    found = put_together(
        [record("none", 1000), record("guarded", 1000, 100), record("fs", 1000, 50, proven=False)], Names()
    )
    lost = row(found, "fs")
    assert (lost.hit, lost.part, lost.ours, lost.n, lost.asked) == (None, None, None, 0, 12)
    # Nor is what they cannot tell.
    blind = put_together([record("guarded", 1000, 100), record("fs", 1000, 50, proven=None)], Names())
    assert row(blind, "fs").hit is None
    assert verdict(blind, "best peer").verdict == NOT_MEASURED


def test_a_local_disk_is_compared_with_nothing_that_pods_share() -> None:
    found = put_together(
        [record("none", 1000), record("guarded", 1000, 100), record("disk", 1000, 10, kind=OWN)], Names()
    )
    assert row(found, "disk").how == "the same Pod" and row(found, "disk").ours is None
    assert verdict(found, "best peer").verdict == NOT_MEASURED


@pytest.mark.parametrize(
    ("records", "part"),
    [
        ([record("guarded", 1000, 100, n=9)], "hits that counters show"),
        (
            [record("none", 1000), record("guarded", 1000, 100), record("none-again", 1500)],
            "at the end as at the start",
        ),
    ],
    ids=["too few", "another machine at the end"],
)
def test_not_sound(records: list[Record], part: str) -> None:
    found = put_together(records, Names())
    assert verdict(found, part).verdict == UNSOUND and not found.verdict.sound


def test_a_failed_request_and_no_hit_at_all() -> None:
    broken = record("guarded", 1000, 100)
    broken.samples[1].error, broken.samples[1].ttft_ms = "no answer", None
    assert verdict(put_together([broken], Names()), "answered").verdict == UNSOUND
    assert not put_together([record("none", 1000)], Names()).verdict.sound


def test_storing_that_costs() -> None:
    found = put_together([record("none", 1000), record("guarded", 1200, 100)], Names())
    assert verdict(found, "storing costs").verdict == MISSED


def test_the_pods_own_l2(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a")
    connected.add("pod-b", l2_dir=tmp_path / "apart")
    options = {"tiers": "own", "sizes": "300", "repetitions": 3, "prompt_key": "k"}
    code, found = bench_run(tmp_path / "disk", *RELEASE, *short("sweep", **options), "--variant", "disk")
    assert code == 0
    own = [s for s in found.samples if s.key.condition == OWN]
    assert {s.key.condition for s in found.samples} == {COLD, OWN}
    assert [(s.proven, s.tokens.l2 if s.tokens else 0, s.tokens.l1 if s.tokens else 0) for s in own] == [
        (True, 256, 0)
    ] * 3
    assert all(
        s.place == c.place for s, c in zip(own, [s for s in found.samples if s.key.condition == COLD], strict=True)
    )


def test_the_same_prompts_by_a_key(connected: Release, tmp_path: Path) -> None:
    connected.add("pod-a")
    engine = connected.engines[0]
    sent = []
    for name, key in (("one", "k"), ("two", "k"), ("three", "other")):
        engine.requests.clear()
        bench_run(tmp_path / name, *RELEASE, *short("sweep", tiers="cold", sizes="300", repetitions=2, prompt_key=key))
        sent.append([each["prompt"] for each in engine.requests])
    assert sent[0] == sent[1] != sent[2]


def test_from_files(connected: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pod-a", "pod-b"):
        connected.add(name)
    files = []
    for name, tiers in (("none", "cold"), ("guarded", "l2"), ("fs", "l2"), ("none-again", "cold")):
        bench_run(
            tmp_path / name, *RELEASE, *short("sweep", tiers=tiers, sizes="300", repetitions=4), "--variant", name
        )
        files.append(str(tmp_path / name / "result.json"))
    missing = tmp_path / "missing.json"
    missing.write_text(json.dumps([{"peer": "lm://", "why": "not in this mode"}]))
    capsys.readouterr()
    code = __main__.main(["bench", "peers", *files, "--missing", str(missing), "--out", str(tmp_path / "out")])
    assert code == 1  # Four hits are too few.
    made = json.loads((tmp_path / "out" / "peers.json").read_text())
    assert made["kind"] == peers.KIND and [r["peer"] for r in made["rows"]] == ["none", "guarded", "fs", "none-again"]
    assert made["rows"][1]["tokens"] == 256 and made["rows"][1]["n"] == 4
    printed = capsys.readouterr().out
    assert "4 of 4" in printed and "lm://: not in this mode" in printed and "peers: NOT SOUND" in printed
    assert {"peers.svg", "peers.png"} <= {f.name for f in (tmp_path / "out").iterdir()}
    for words, part in (
        ([*files, files[0]], "several results are of variant none"),
        ([files[0]], "--ours guarded: no result is of this variant"),
        ([*files, "--missing", str(tmp_path / "nowhere")], "--missing"),
    ):
        assert __main__.main(["bench", "peers", *words, "--out", str(tmp_path / "out")]) == 2
        assert part in capsys.readouterr().err


def test_an_unknown_tier_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["bench", "run", "--url", "http://x", "--tiers", "l3", "--out", str(tmp_path)]) == 2
    assert "--tiers l3: l3 is no tier of the sweep" in capsys.readouterr().err
