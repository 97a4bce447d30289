"""Engines on loopback in a fake release, and short waits, for runs of bench that take a second or two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tiered_kv_cache import __main__, cluster
from tiered_kv_cache.bench import bench, command, dialogue, load, replay
from tiered_kv_cache.bench.record import Record
from tiered_kv_cache.bench.record import load as load_record
from tiered_kv_cache.verify.reach import PodIp
from unit.hooks.conftest import Release, pair, release

__all__ = ["Release", "pair", "release"]
RELEASE = ["--namespace", "kv", "--release", "demo"]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(bench, "STORE_SECONDS", 2.0)
    monkeypatch.setattr(bench, "REST_SECONDS", 0.1)
    monkeypatch.setattr(bench, "SPIN_SECONDS", 0.01)
    monkeypatch.setattr(bench, "BLIND_SECONDS", 0.3)
    monkeypatch.setattr(bench, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(load, "OPEN_SECONDS", 0.1)
    monkeypatch.setattr(dialogue, "REPETITIONS", 2)
    monkeypatch.setattr(replay, "STORE_SECONDS", 0.1)


@pytest.fixture
def connected(release: Release, monkeypatch: pytest.MonkeyPatch) -> Release:
    """The fake cluster in place of a real one; Pods are added by the test."""
    monkeypatch.setattr(cluster.KubernetesCluster, "connect", classmethod(lambda *_: release.cluster))
    monkeypatch.setattr(command, "way_to_pods", lambda *_: PodIp())
    return release


def bench_run(out: Path, *words: str) -> tuple[int, Record]:
    """Exit code and record of one run."""
    code = __main__.main(["bench", "run", "--out", str(out), "--budget", "3000", *words])
    return code, load_record(str(out / "result.json"))


def short(experiments: str, **more: Any) -> list[str]:
    """Arguments of a small run; keywords are options."""
    known = {"sizes": "300,1000", "repetitions": 2, "concurrency": "1,4", "rates": "40", "users": 2, "rounds": 2} | more
    words = [f"--{name.replace('_', '-')}={value}" for name, value in known.items()]
    return ["--experiments", experiments, *words]
