"""Several models in a release, several releases in a namespace, autoscaled models, and the API key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emulators.cluster import not_ready
from emulators.engine import Faults
from tiered_kv_cache.verify import run as run_module
from tiered_kv_cache.verify import waiting
from tiered_kv_cache.verify.config import ModelSpec
from tiered_kv_cache.verify.result import Result

from .conftest import Release, findings, only

KEY = "sk-not-to-be-printed"


def of(release: Release, name: str, *, pods: int = 2, faults: Faults | None = None, **change: object) -> ModelSpec:
    """A further model of the release with so many healthy Pods."""
    for number in range(pods):
        release.add(f"{name}-{number}", of_model=name, model=name, faults=faults)
    known = {"name": name, "served_name": name, "deployment": f"demo-{name}-engine", "replicas": pods}
    return release.model(**(known | change))


def proven(result: Result) -> dict[str, bool]:
    """Model -> whether all its rows passed."""
    return {m.name: bool(m.rows) and {r.verdict for r in m.rows} == {"pass"} for m in result.models}


def test_every_model_is_measured_alone(release: Release) -> None:
    models = [of(release, name) for name in ("alpha", "beta", "gamma")]
    result = release.verify(*models)
    assert findings(result) == []
    assert proven(result) == {"alpha": True, "beta": True, "gamma": True}
    measured = [line.split(":")[0] for line in release.said if "prompt tokens" in line]
    assert measured == ["alpha"] * 5 + ["beta"] * 5 + ["gamma"] * 5, "one after the other"


def test_a_model_that_is_not_ready_holds_up_no_other(release: Release) -> None:
    models = [of(release, name) for name in ("broken", "fine")]
    not_ready(release.cluster.all_pods[0], "vllm", {"running": {}})
    result = release.verify(*models, deadline=8)
    assert proven(result)["fine"]
    assert all(f.startswith("model broken: ") for f in findings(result))
    assert "1 of 2 Pods are Ready when the deadline of 8 s passed" in findings(result)[0]


def test_a_model_that_becomes_ready_late_is_measured(release: Release) -> None:
    models = [of(release, name) for name in ("late", "fine")]
    good = release.cluster.all_pods[0]["status"]
    raw = release.cluster.all_pods[0] = release.cluster.all_pods[0] | {"status": dict(good)}
    not_ready(raw, "vllm", {"running": {}})

    def on_list(number: int) -> None:
        if number == 5:
            raw["status"] = good

    release.cluster.on_list = on_list
    assert proven(release.verify(*models)) == {"late": True, "fine": True}


def test_one_call_lists_the_pods_of_all_models(release: Release) -> None:
    models = [of(release, f"m{i}", pods=0, replicas=2) for i in range(20)]
    release.verify(*models, deadline=0.2)
    assert release.cluster.lists < 15


def test_a_model_that_hangs_costs_its_share_only(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "LEAST_SHARE", 1)
    models = [of(release, "hangs", faults=Faults(ms_per_token=20)), of(release, "fine")]
    result = release.verify(*models, deadline=16)
    assert proven(result)["fine"]
    text = only(result)
    assert "model hangs: the request for tier cold on Pod hangs-0 failed: the deadline of " in text
    assert "raise hooks.verify.deadlineSeconds (16 now, shared by 2 models)" in text
    assert result.seconds < 16


def test_no_time_left_says_how_much_would_do(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "LEAST_SHARE", 60)
    models = [of(release, "hangs", faults=Faults(ms_per_token=60)), of(release, "waits")]
    result = release.verify(*models, deadline=1)
    assert result.seconds < 10, "the whole run ends in time"
    text = findings(result)[1]
    assert "model waits: its Pods are Ready, but no time was left to measure it: 1 of 2 models took the 1 s" in text
    assert re.search(r"set hooks.verify.deadlineSeconds to \d+ or more", text)


def test_two_releases_in_one_namespace(pair: Release, tmp_path: Path) -> None:
    other = Release(tmp_path / "v1" / "risk" / "tiny" / "ffff", cluster=pair.cluster)
    for name in ("other-a", "other-b"):
        # Everything that would be a fault in one release.
        other.add(name, release="risk", seed="7", config_hash="beef", claim="other-l2")
    result = pair.verify()
    assert findings(result) == []
    assert result.models[0].pods == ["pod-a", "pod-b"]
    assert not any(e.requests for e in other.engines)
    for engine in other.engines:
        engine.stop()


@pytest.mark.parametrize("ready", [2, 3])
def test_autoscaled_takes_the_pods_that_are_ready(release: Release, ready: int) -> None:
    for number in range(ready):
        release.add(f"pod-{number}")
    not_ready(release.pod("pod-x"), "vllm", {"running": {}})
    release.cluster.all_pods.append(not_ready(release.pod("pod-x"), "vllm", {"running": {}}))
    result = release.verify(release.model(replicas=None))
    assert findings(result) == []
    assert result.models[0].pods == [f"pod-{n}" for n in range(ready)]
    assert proven(result) == {"tiny": True}


def test_autoscaled_with_one_pod_says_what_to_do(release: Release) -> None:
    release.add("pod-a")
    result = release.verify(release.model(replicas=None))
    assert findings(result) == []
    assert [(r.verdict, r.why) for r in result.models[0].rows if r.tier == "l2"] == [("skipped", "one Pod")]
    (skip,) = result.models[0].skips
    assert "for good set models.tiny.autoscaling.minReplicas: 2" in str(skip)
    assert "kubectl scale -n kv deployment/demo-tiny-engine --replicas=2" in str(skip)


def test_autoscaled_waits_a_moment_for_a_second_pod(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 10)
    release.add("pod-a")
    raw = release.add("pod-b")
    good = dict(raw["status"])
    not_ready(raw, "vllm", {"running": {}})

    def on_list(number: int) -> None:
        if number == 4:
            raw["status"] = good

    release.cluster.on_list = on_list
    assert release.verify(release.model(replicas=None)).models[0].pods == ["pod-a", "pod-b"]


def test_scaled_to_zero_is_no_fault_but_no_proof(release: Release) -> None:
    result = release.verify(release.model(replicas=None, min_replicas=0))
    assert findings(result) == []
    assert result.models[0].skipped
    assert "scaled to zero" in str(result.models[0].skips[0])


def test_fewer_than_the_autoscaler_keeps(release: Release) -> None:
    release.add("pod-a")
    found = findings(release.verify(release.model(replicas=None, min_replicas=2), deadline=0.3))
    assert "1 of 1 (autoscaled) Pods are Ready when the deadline of 0.3 s passed" in found[0]


def test_the_key_goes_to_what_is_guarded_only(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, key=KEY)
    result = release.verify(key=KEY)
    assert findings(result) == []
    sent = {path for engine in release.engines for path in engine.keyed}
    assert sent == {"/v1/models", "/v1/completions"}


@pytest.mark.parametrize(
    ("given", "secret", "parts"),
    [
        ("", "", ["asks for an API key (401), and the release names none", "apiKey.secretName"]),
        ("", "keys/k", ["Secret keys gives verify none under k", "kubectl describe secret -n kv keys"]),
        (
            "sk-old-one",
            "keys/k",
            ["refuses that of Secret keys (k)", "kubectl rollout restart -n kv deployment/demo-alpha-engine"],
        ),
    ],
)
def test_one_message_for_a_key_that_is_refused(release: Release, given: str, secret: str, parts: list[str]) -> None:
    models = [of(release, name) for name in ("alpha", "beta")]
    for engine in release.engines:
        engine.key = KEY
    result = release.verify(*models, key=given, api_key_secret=secret)
    text = only(result)
    for part in parts:
        assert part in text
    assert KEY not in text
    assert "sk-old-one" not in str(result)
    assert result.models[1].skipped
    assert result.models[1].notes == ["not measured: its engines refuse the API key too, see model alpha"]


def test_in_process_proves_l2_by_the_counters_of_vllm(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, in_process=True)
    result = release.verify(release.model(mode="inProcess"))
    assert findings(result) == []
    rows = {r.tier: r for r in result.models[0].rows}
    assert rows["l2"].hits is not None
    assert (rows["l2"].verdict, rows["l2"].hits.l2) == ("pass", 1792)
    assert rows["l1"].hits is not None
    assert (rows["l1"].verdict, rows["l1"].why, rows["l1"].hits.either) == ("warn", "L1 or L2", 1792)
    assert rows["l0"].verdict == rows["control"].verdict == "pass"


def test_in_process_with_lmcaches_own_counters_tells_l1(release: Release) -> None:
    for name in ("pod-a", "pod-b"):
        release.add(name, in_process=True, lmcache_metrics=True)
    result = release.verify(release.model(mode="inProcess"))
    assert findings(result) == []
    assert proven(result) == {"tiny": True}
    (l1,) = [r for r in result.models[0].rows if r.tier == "l1"]
    assert l1.hits is not None
    assert (l1.hits.l1, l1.hits.l2) == (1792, 0)


@pytest.mark.parametrize(("dev_mode", "verdict"), [(True, "pass"), (False, "skipped")])
def test_in_process_with_salted_keys_needs_a_reset(release: Release, dev_mode: bool, verdict: str) -> None:
    for name in ("pod-a", "pod-b"):
        faults = Faults(salted_keys=True, dev_mode=dev_mode)
        release.add(name, in_process=True, lmcache_metrics=True, faults=faults)
    result = release.verify(release.model(mode="inProcess"))
    assert findings(result) == []
    assert [r.verdict for r in result.models[0].rows if r.tier == "l1"] == [verdict]


def test_in_process_volume_not_shared(release: Release, tmp_path: Path) -> None:
    release.add("pod-a", in_process=True)
    release.add("pod-b", in_process=True, l2_dir=tmp_path / "elsewhere")
    text = only(release.verify(release.model(mode="inProcess")))
    assert "the L2 volume is not shared between Pod pod-a (node node-1) and Pod pod-b (node node-2)" in text
    assert "kubectl exec -n kv pod-b -c vllm -- " in text


def test_in_process_without_a_connector(release: Release) -> None:
    """As an engine on a device that LMCache has no connector for: healthy, and nothing is cached."""
    for name in ("pod-a", "pod-b"):
        release.add(name, in_process=True, faults=Faults(not_connected=True))
    found = findings(release.verify(release.model(mode="inProcess")))
    assert "vLLM of Pod pod-a (node node-1) never asked the LMCache in its process" in found[0]
    assert "LMCacheConnectorV1" in found[0]


def test_several_ranks_store_several_files_a_chunk(release: Release) -> None:
    """Files of two ranks are no sign of differing keys."""
    for name in ("pod-a", "pod-b"):
        release.add(name, hash_seed=name)
    found = findings(release.verify(release.model(ranks=2)))
    assert "the L2 volume is not shared" in found[0], "14 files are usual for 7 chunks of two ranks"
