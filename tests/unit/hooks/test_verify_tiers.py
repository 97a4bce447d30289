"""verify against emulated engines: the good cases, and every way in which a tier can disappoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulators.engine import Engine, Faults
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.verify import files, judge_times, tiers
from tiered_kv_cache.verify.result import Result, Row

from .conftest import Release, findings, only, warnings


def rows(result: Result) -> list[tuple[str, str]]:
    return [(r.tier, r.pod) for m in result.models for r in m.rows]


def hits(row: Row) -> tuple[float, float, float]:
    assert row.counters is not None
    return row.counters.served()


def test_two_pods_prove_all_tiers(pair: Release) -> None:
    result = pair.verify()
    assert findings(result) == []
    assert rows(result) == [
        ("cold", "pod-a"), ("l2", "pod-b"), ("l0", "pod-b"), ("l1", "pod-b"), ("control", "pod-b")
    ]  # fmt: skip
    cold, l2, l0, l1, control = result.models[0].rows
    assert {r.verdict for r in result.models[0].rows} == {"pass"}
    assert [r.same for r in result.models[0].rows] == ["", "equal", "equal", "equal", "equal"]
    assert hits(control) == (0, 0, 0)
    assert hits(cold) == (0, 0, 0)
    assert hits(l2) == (0, 0, 1792)
    assert hits(l0) == (1792, 0, 0)
    assert hits(l1) == (0, 1792, 0)
    assert cold.text
    assert len({r.text for r in result.models[0].rows}) == 1
    sent = [r for e in pair.engines for r in e.requests if len(r["prompt"]) > 1000]
    assert [len(r["prompt"]) for r in sent] == [1900] * 5
    assert all(r["temperature"] == 0 and r["ignore_eos"] and r["max_tokens"] == 16 for r in sent)


def test_prompts_are_new_in_every_run(pair: Release) -> None:
    assert pair.verify().ok
    again = pair.verify()
    assert again.ok
    assert hits(again.models[0].rows[0]) == (0, 0, 0)


def test_a_pod_is_asked_when_the_other_has_come_to_rest(pair: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(tiers, "SPIN_SECONDS", 1e6)
    monkeypatch.setattr(Deadline, "sleep", lambda _self, seconds: waits.append(seconds))
    assert pair.verify().ok
    # Cold after the other's warm-up, L2 after cold; all that follows is on the same Pod.
    assert sum(wait > 1e5 for wait in waits) == 2


def test_the_second_pod_is_on_another_node(release: Release) -> None:
    release.add("pod-a", node="node-1")
    release.add("pod-b", node="node-1")
    release.add("pod-c", node="node-2")
    result = release.verify(release.model(replicas=3))
    assert findings(result) == []
    assert rows(result)[:5] == [("cold", "pod-a"), ("l2", "pod-c"), ("l2", "pod-b"), ("l0", "pod-c"), ("l1", "pod-c")]


@pytest.mark.parametrize("looks", [True, False])
def test_volume_not_shared(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: bool) -> None:
    release.add("pod-a")
    release.add("pod-b", l2_dir=tmp_path / "elsewhere")
    if not looks:
        monkeypatch.setattr(files, "chunk_files", lambda root: None)
    text = only(release.verify())
    assert "the L2 volume is not shared between Pod pod-a (node node-1) and Pod pod-b (node node-2)" in text
    assert "the first stored 7 chunks" in text
    assert "0 of 1792 L2 hit tokens on Pod pod-b" in text
    assert ("this Pod sees 7 new files there" if looks else "this Pod cannot look") in text
    assert "Fix: use a volume with ReadWriteMany" in text


def test_keys_differ_on_a_shared_volume(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", hash_seed="1")  # In the process only; the specs agree.
    text = only(release.verify())
    assert "the keys of Pod pod-a (node node-1) and Pod pod-b (node node-2) differ" in text
    assert "14 new files" in text
    assert "instead of 7" in text


def test_partial_hit(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(l2_prefix_only=3))
    text = only(release.verify())
    assert "partial hit: 768 of 1792 L2 hit tokens on Pod pod-b, 1792 looked up" in text


def test_nothing_stored(release: Release) -> None:
    release.add("pod-a", faults=Faults(store=False))
    release.add("pod-b")
    text = only(release.verify())
    assert "Pod pod-a (node node-1) stored 0 of 7 chunks in L2 below" in text
    assert "full, read-only, slow or gone" in text


def test_slow_store_is_waited_for(release: Release) -> None:
    release.add("pod-a", faults=Faults(store_seconds=0.3))
    release.add("pod-b")
    assert findings(release.verify()) == []


def test_vllm_without_its_connector(release: Release) -> None:
    release.add("pod-a", faults=Faults(not_connected=True))
    release.add("pod-b", faults=Faults(not_connected=True))
    found = findings(release.verify())
    assert "vLLM of Pod pod-a (node node-1) never asked its LMCache server" in found[0]
    assert "vLLM of Pod pod-b (node node-2) never asked its LMCache server" in found[1]
    assert "--kv-transfer-config" in found[0]


def test_a_shared_server_shows_in_l1(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(l1_without_l2=True))
    found = findings(release.verify())
    assert any("had 1792 tokens of a new prompt in its L1 before it saw it" in f for f in found)


def verdicts(result: Result) -> dict[str, tuple[str, str]]:
    return {r.tier: (r.verdict, r.why) for m in result.models for r in m.rows}


def test_one_replica_says_what_it_cannot_prove(release: Release) -> None:
    release.add("pod-a")
    result = release.verify(release.model(replicas=1))
    assert findings(result) == []
    assert verdicts(result)["l2"] == ("skipped", "one Pod")
    assert [verdicts(result)[t][0] for t in ("cold", "l1", "l0", "control")] == ["pass"] * 4
    (skip,) = result.models[0].skips
    assert "set models.tiny.replicas: 2" in str(skip)
    assert skip.commands == ("kubectl scale -n kv deployment/demo-tiny-engine --replicas=2",)


def test_pods_on_one_node_prove_less(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, node="node-1")
    result = release.verify()
    assert findings(result) == []
    assert result.models[0].notes == ["all Pods run on node node-1: that other nodes see the volume is not proven"]


def test_l2_off(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, l2=False)
    result = release.verify(release.model(l2=False, l2_parent="", config_hash=""))
    assert findings(result) == []
    assert [row for row in rows(result) if row[0] == "cold"] == [("cold", "pod-a"), ("cold", "pod-b")]
    assert verdicts(result)["l2"] == ("skipped", "off")
    assert [verdicts(result)[t][0] for t in ("l1", "l0")] == ["pass"] * 2
    assert result.models[0].skips == []


def test_l2_off_in_the_values_but_not_in_the_pods(pair: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody waits for a store that should not be; the pause before another Pod is asked gives it time.
    monkeypatch.setattr(tiers, "SPIN_SECONDS", 1.0)
    text = only(pair.verify(pair.model(l2=False, l2_parent="", config_hash="")))
    assert "Pod pod-b took 1792 tokens that only another Pod has computed, though L2 is off" in text


def test_no_lmcache_tier(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, faults=Faults(not_connected=True))
    result = release.verify(release.model(l1=False, l2=False))
    assert findings(result) == []
    assert verdicts(result) == {
        "cold": ("pass", ""), "l2": ("skipped", "off"), "l1": ("skipped", "off"), "l0": ("pass", ""),
        "control": ("pass", ""),
    }  # fmt: skip
    assert "kv_transfer_params" not in release.engines[0].requests[-1]


def test_l1_off(pair: Release) -> None:
    result = pair.verify(pair.model(l1=False))
    assert verdicts(result)["l1"] == ("skipped", "off")
    assert verdicts(result)["l2"] == verdicts(result)["l0"] == ("pass", "")


def test_l0_off_needs_no_reset(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, l0=False, faults=Faults(dev_mode=False))
    result = release.verify(release.model(l0=False))
    assert findings(result) == []
    assert verdicts(result)["l0"] == ("skipped", "off")
    assert verdicts(result)["l2"] == verdicts(result)["l1"] == ("pass", "")


@pytest.mark.parametrize(
    ("faults", "reset", "note"),
    [
        (Faults(dev_mode=False), "auto", "no POST /reset_prefix_cache"),
        (Faults(), "never", "hooks.verify.resetL0 is never"),
        (Faults(reset_does_nothing=True), "auto", "did not empty L0 in 3 tries"),
    ],
)
def test_l1_not_measured(
    release: Release, monkeypatch: pytest.MonkeyPatch, faults: Faults, reset: str, note: str
) -> None:
    monkeypatch.setattr(tiers, "RESET_SECONDS", 0.01)
    release.add("pod-a")
    release.add("pod-b", faults=faults)
    result = release.verify(reset_l0=reset)
    assert findings(result) == []
    l1 = result.models[0].rows[-2]
    assert (l1.tier, l1.verdict, l1.counters) == ("l1", "skipped", None)
    assert note in l1.note
    assert [r.tier for r in result.models[0].rows] == ["cold", "l2", "l0", "l1", "control"]
    (skip,) = result.models[0].skips
    assert "L1 on Pod pod-b" in str(skip)


def test_found_but_not_loaded(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(load_fails=True))
    found = findings(release.verify())
    assert "LMCache of Pod pod-b found 1792 tokens in L2, but vLLM took 0 and computed 1900" in found[0]


def test_traffic_of_others_that_hides_nothing(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(foreign_tokens=500, per_request=True))
    result = release.verify()
    assert findings(result) == []
    assert "other requests ran on the Pod" in result.models[0].rows[1].note
    assert verdicts(result)["l2"] == ("pass", "")


def test_traffic_that_hides_the_proof_fails(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(foreign_tokens=5000))
    result = release.verify()
    text = only(result)
    assert "its 1792 L2 hit tokens may be theirs: this one certainly got 0 of 1792" in text
    assert "--enable-prompt-tokens-details" in text
    assert verdicts(result)["l2"] == ("fail", "not proven")
    assert sum(len(r["prompt"]) == 1900 for r in release.engines[0].requests) == 3, "it tries again with a new prompt"


def test_traffic_that_ends_is_waited_for(release: Release) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=Faults(foreign_tokens=5000, foreign_once=True))
    result = release.verify()
    assert findings(result) == []
    assert [r.verdict for r in result.models[0].rows] == ["pass"] * 5
    assert any("try 2 of 3 with a new prompt" in line for line in release.said)


def test_speedup(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, faults=Faults(ms_per_token=0.1))
    result = release.verify(min_speedup=1.2)
    assert findings(result) == []
    text = only(release.verify(min_speedup=1000))
    assert "less than hooks.verify.minSpeedup 1000" in text


def test_slower_than_computing_is_said(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_times, "SLOWER_MS", 50)
    release.add("pod-a")
    release.add("pod-b", faults=Faults(load_seconds=0.3))
    result = release.verify()
    assert findings(result) == []
    assert "L2 on Pod pod-b takes longer than computing the prompt anew" in warnings(result)[0]
    assert verdicts(result)["l2"] == ("warn", "slower than cold")


def test_wrong_served_name(pair: Release) -> None:
    found = findings(pair.verify(pair.model(served_name="other")))
    assert "Pod pod-a: vLLM serves tiny, not other" in found[0]
    assert "Pod pod-b" in found[1]
    assert "models.tiny.servedName" in found[0]


def test_prompt_does_not_fit_the_model(release: Release) -> None:
    release.add("pod-a", max_model_len=1024)
    release.add("pod-b", max_model_len=1024)
    text = only(release.verify())
    assert "hooks.verify.promptTokens is too large for maxModelLen 1024: 1900 prompt tokens and 16" in text


@pytest.mark.parametrize(
    ("faults", "part"),
    [
        (Faults(lmcache_down=True), "Pod pod-b: the LMCache server is down: http://127.0.0.1:"),
        (Faults(lmcache_bad_metrics=True), "Pod pod-b: the LMCache server's /metrics cannot be read: not Prometheus"),
        (Faults(vllm_down=True), "Pod pod-b: vLLM does not answer: http://127.0.0.1:"),
        (Faults(vllm_health=503), "Pod pod-b: vLLM does not answer: http://127.0.0.1:"),
        (Faults(stream_error=True), "the request for tier l2 on Pod pod-b failed: vLLM streamed an error"),
        (Faults(drop_stream=True), "the request for tier l2 on Pod pod-b failed: http://127.0.0.1:"),
        (Faults(restart_in_long=True), " on Pod pod-b failed: a counter fell"),
    ],
)
def test_servers_that_fail(release: Release, faults: Faults, part: str) -> None:
    release.add("pod-a")
    release.add("pod-b", faults=faults)
    assert part in only(release.verify())


def test_deadline_in_a_slow_answer(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, faults=Faults(ms_per_token=10.0))
    text = only(release.verify(deadline=6))
    assert "the request for tier cold on Pod pod-a failed: the deadline of 6 s passed while waiting for http" in text
    assert "Fix: raise hooks.verify.deadlineSeconds" in text


def test_a_hang_after_lmcache_restarted(release: Release) -> None:
    release.add("pod-a")
    raw = release.add("pod-b", faults=Faults(ms_per_token=10.0, not_connected=True))
    raw["status"]["containerStatuses"][1]["restartCount"] = 3
    text = only(release.verify(deadline=6))
    assert "container lmcache restarted 3 times, after which vLLM may hang: delete the Pod" in text


def test_no_model(release: Release) -> None:
    text = only(release.verify_none())
    assert "release demo has no enabled model to verify" in text


def test_engine_emulator_keys_depend_on_all_tokens(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    one, two = engine._keys(list(range(600)), 256), engine._keys([9, *range(1, 600)], 256)
    assert len(one) == 2
    assert not set(one) & set(two)
