"""Engines on loopback, a cluster that lists them, and short waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from emulators.cluster import FakeCluster, Json, pod
from emulators.engine import Engine, Faults
from tiered_kv_cache import http
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.verify import judge_times, tiers, waiting
from tiered_kv_cache.verify.config import ModelSpec, Settings
from tiered_kv_cache.verify.context import Context
from tiered_kv_cache.verify.reach import PodIp
from tiered_kv_cache.verify.result import Result
from tiered_kv_cache.verify.run import run

# Tests never assert times, not even that an example is quick.
settings.register_profile("hooks", deadline=None)
settings.load_profile("hooks")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(tiers, "STORE_SECONDS", 0.6)
    monkeypatch.setattr(tiers, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(tiers, "BLIND_SECONDS", 0.2)
    monkeypatch.setattr(tiers, "REST_SECONDS", 0.1)
    monkeypatch.setattr(tiers, "SPIN_SECONDS", 0.01)
    monkeypatch.setattr(tiers, "LAG_SECONDS", LAG_SECONDS)
    # Times of emulators on a busy machine mean nothing.
    monkeypatch.setattr(judge_times, "SLOWER_MS", 1e9)
    monkeypatch.setattr(http, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.1)


ENGINE = ("model", "max_model_len", "hash_seed", "l0", "l2", "in_process", "lmcache_metrics", "key")
"""Settings of an engine; everything else is the Pod's."""
LAG_SECONDS = 0.6
"""As tiers.LAG_SECONDS: longer than an emulated LMCache in vLLM's process is late."""


@dataclass
class Release:
    """A fake release of one model, tiny, with one emulated engine a Pod."""

    root: Path
    engines: list[Engine] = field(default_factory=list)
    cluster: FakeCluster = field(default_factory=lambda: FakeCluster([]))
    said: list[str] = field(default_factory=list)

    def add(self, name: str, *, l2_dir: Path | None = None, faults: Faults | None = None, **pod_change: Any) -> Json:
        """Add a Pod ``name`` with a running engine; its L2 is the shared root unless ``l2_dir`` is another."""
        directory = l2_dir or self.root
        directory.mkdir(parents=True, exist_ok=True)
        engine_change = {k: pod_change.pop(k) for k in ENGINE if k in pod_change}
        pod_change |= {"in_process": True} if engine_change.get("in_process") else {}
        engine = Engine(directory, faults=faults or Faults(), **engine_change).start()
        self.engines.append(engine)
        node = pod_change.pop("node", f"node-{len(self.engines)}")
        raw = pod(name, node, root=str(self.root), **({"ports": (engine.vllm_port, engine.lmcache_port)} | pod_change))
        self.cluster.all_pods.append(raw)
        return raw

    def pod(self, name: str, **change: Any) -> Json:
        """A Pod's object that fits this release, without an engine behind it and not yet in the cluster."""
        return pod(name, **({"root": str(self.root)} | change))

    def model(self, **change: Any) -> ModelSpec:
        """What the chart says about model tiny."""
        known: dict[str, Any] = {
            "name": "tiny",
            "served_name": "tiny",
            "replicas": 2,
            "chunk_size": 256,
            "l0": True,
            "l1": True,
            "l2": True,
            "deployment": "demo-tiny-engine",
            "l2_parent": str(self.root.parent),
            "config_hash": "c0ffee",
        }
        return ModelSpec(**(known | change))

    def verify(self, *models: ModelSpec, deadline: float = 120, **change: Any) -> Result:
        """Run verify over ``models`` (default: tiny as it should be)."""
        return self._run(models or (self.model(),), deadline, **change)

    def verify_none(self) -> Result:
        """Run verify over no model at all."""
        return self._run((), 1)

    def _run(self, models: tuple[ModelSpec, ...], deadline: float, key: str = "", **change: Any) -> Result:
        known: dict[str, Any] = {"prompt_tokens": 1900, "min_speedup": 0, "reset_l0": "auto"}
        settings = Settings(models=models, deadline_seconds=deadline, **(known | change))
        ctx = Context(settings, self.cluster, PodIp(), "kv", "demo", Deadline(deadline), self.said.append, key)
        return run(ctx)


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Release]:
    made = Release(tmp_path / "v1" / "demo" / "tiny" / "0123456789abcdef")
    yield made
    for engine in made.engines:
        engine.stop()


@pytest.fixture
def pair(release: Release) -> Release:
    """Two healthy Pods on two nodes with one volume."""
    release.add("pod-a")
    release.add("pod-b")
    return release


def findings(result: Result) -> list[str]:
    """All findings as text."""
    return [str(f) for f in (*result.findings, *(f for m in result.models for f in m.findings))]


def warnings(result: Result) -> list[str]:
    """All warnings as text."""
    return [str(f) for m in result.models for f in m.warnings]


def only(result: Result) -> str:
    """The one finding there must be."""
    found = findings(result)
    assert len(found) == 1, found
    assert ". Fix: " in found[0]
    return found[0]
