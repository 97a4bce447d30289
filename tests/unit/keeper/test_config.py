"""Settings: all faults together, each with its key, its value and what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiered_kv_cache.__main__ import main
from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.keeper import config, units
from tiered_kv_cache.keeper.config import Limit
from tiered_kv_cache.keeper.lease import Fence
from tiered_kv_cache.keeper.pace import Pace
from tiered_kv_cache.keeper.tree import Tree
from tiered_kv_cache.keeper.watch import Watch

from .volume import BLOCK, Volume

WHOLE = """
mount: /mnt/kv-l2
quota: 80Gi
files: 2000000
highWatermark: 0.9
lowWatermark: 0.6
ttl: 168h
linesOfBusiness:
  retail: {quota: 40Gi, models: {qwen2-7b: {quota: 10Gi}}}
grace: {tmp: 15m, orphan: 3d}
sweep: {operationsPerSecond: 500, interval: 1h30m}
evict: {filesPerSecond: 50}
pool: {urls: ["http://m:9000/metrics"], workers: 3}
lease: {name: keeper-kv-l2, duration: 30s}
"""


def test_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "keeper.yaml").write_text(WHOLE)
    found = config.load(str(tmp_path / "keeper.yaml"))
    assert found.volume == Limit(80 << 30, 2_000_000)
    assert found.tenants["retail"].limit == Limit(40 << 30)
    assert found.tenants["retail"].models == {"qwen2-7b": Limit(10 << 30)}
    assert (found.high, found.low, found.ttl, found.sweep) == (0.9, 0.6, 604_800, 5400)
    assert (found.grace.tmp, found.grace.orphan, found.grace.object) == (900, 259_200, 30)
    assert (found.operations, found.deletes, found.pool.workers) == (500, 50, 3)


def test_the_usual_watermarks() -> None:
    found = config.parse({"mount": "/mnt"}, "x")
    assert (found.high, found.low, found.ttl, found.port) == (0.85, 0.70, 0, 9400)


def test_all_faults_at_once() -> None:
    raw = {
        "mount": "mnt", "quota": "80 GB", "highWatermark": 0.5, "lowWatermark": 0.7, "ttl": "week", "qouta": 1,
        "linesOfBusiness": {"Retail": {"quota": -1}}, "pool": {"urls": ["http://m"]}, "grace": {"tpm": "1s"},
        "evict": {"mostFractionByAge": 2}, "port": True, "lease": {"name": "x", "duration": "1s"},
    }  # fmt: skip
    with pytest.raises(UsageError) as err:
        config.parse(raw, "keeper.yaml")
    lines = str(err.value).splitlines()
    keys = sorted(line.split(": ")[1] for line in lines)
    assert keys == sorted([
        "mount", "quota", "lowWatermark", "ttl", "qouta", "linesOfBusiness.Retail", "linesOfBusiness.Retail.quota",
        "pool.workers", "grace.tpm", "evict.mostFractionByAge", "port", "lease.duration",
    ])  # fmt: skip
    assert all("Fix: " in line for line in lines)


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "\x00", "just text"])
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    (tmp_path / "k").write_text(text)
    with pytest.raises(UsageError, match="Fix: "):
        config.load(str(tmp_path / "k"))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("80Gi", 80 << 30),
        ("1.5k", 1500),
        (7, 7),
        ("0", 0),
        ("1e3", None),
        ("-1", None),
        (True, None),
        (float("nan"), None),
    ],
)
def test_sizes(text: object, size: int | None) -> None:
    assert units.size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h30m", 5400), ("250ms", 0.25), (5, 5.0), ("", None), ("5 s", None), (-1, None), (None, None)],
)
def test_durations(text: object, seconds: float | None) -> None:
    assert units.seconds(text) == seconds


def test_once_dry_prints_what_would_go_and_changes_nothing(
    volume: Volume, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = volume.root()
    root.put(*range(10), mtime=1_700_000_000)
    file = tmp_path / "keeper.json"
    file.write_text(json.dumps({"mount": str(volume.mount), "quota": 10 * BLOCK, "grace": {"object": 0}}))
    before = volume.everything()
    assert main(["keeper", "--config", str(file), "--once", "--dry-run", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["counters"]["removed"] == [{"labels": ["retail", "tiny", "quota"], "value": 3}]
    assert volume.everything() == before
    assert main(["keeper", "--config", str(file), "--once"]) == 0
    out = capsys.readouterr().out
    assert "removed: retail tiny quota 3" in out
    assert len(root.there(*range(10))) == 7


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_once_where_nobody_has_stored_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    file = tmp_path / "keeper.json"
    file.write_text(json.dumps({"mount": str(tmp_path)}))
    assert main(["keeper", "--config", str(file), "--once", *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fingerprints"] == []
    assert list(tmp_path.iterdir()) == [file]


def test_once_waits_for_a_keeper_that_works(volume: Volume, tmp_path: Path) -> None:
    volume.root().put("a")
    other = Fence(Tree(str(volume.mount), Pace(0), Watch()), "other", 30)
    assert other.take(chosen=False)
    file = tmp_path / "keeper.json"
    file.write_text(json.dumps({"mount": str(volume.mount)}))
    # A process of its own: it ends itself when it fails.
    command = [sys.executable, "-m", "tiered_kv_cache", "keeper", "--config", str(file), "--once"]
    env = {**os.environ, "PYTHONPATH": str(Path(config.__file__).parents[2])}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as once:
        with pytest.raises(subprocess.TimeoutExpired):
            once.wait(3)
        other.release()
        said, _ = once.communicate(timeout=30)
    assert once.returncode == 0, said
    assert "retail" in said


def test_once_on_no_volume_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keeper"]) == 2
    assert "Fix: " in capsys.readouterr().err
    assert main(["keeper", "--config", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_status_of_nobody_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keeper", "status", "--url", "http://127.0.0.1:9"]) == 1
    assert "Fix: " in capsys.readouterr().err
