"""storage-check as a program: tables, exit codes, and mounts that hang, end or never come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faultfs.daemon import FaultFs
from tiered_kv_cache import __main__ as program
from tiered_kv_cache.findings import Finding
from tiered_kv_cache.storage import report, worker
from tiered_kv_cache.storage.checks import Check
from tiered_kv_cache.storage.result import Result

from .pair import bad, job, left


def start(directory: Path, index: int, *more: str) -> subprocess.Popen[str]:
    env = os.environ | {"PYTHONPATH": str(Path(program.__file__).parents[1])}
    command = ["storage-check", "--directory", str(directory), "--line-of-business", "retail", "--release", "kv.demo"]
    command += ["--run", "r1", "--index", str(index), "--node", f"node-{index}", "--deadline", "60", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "tiered_kv_cache", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip


def test_two_processes_agree(tmp_path: Path) -> None:
    pods = [start(tmp_path, index, *(["--json"] if index else [])) for index in (0, 1)]
    (table, _), (text, log) = [pod.communicate(timeout=120) for pod in pods]
    assert [pod.returncode for pod in pods] == [0, 0]
    assert table.splitlines()[-1].startswith("storage-check: passed; ")
    assert "  Pod 0 on node node-0\n  Pod 1 on node node-1\n" in table
    found = json.loads(text)
    assert found["ok"] is True
    assert {check["verdict"] for check in found["checks"]} == {"pass"}
    assert {check["pod"] for check in found["checks"]} == {0, 1}
    assert "storage-check: passed" in log
    assert left(tmp_path) == []


def test_what_the_other_node_sees_late(fault_fs: FaultFs) -> None:
    with fault_fs.faults.stale(1.0):
        pods = [start(fault_fs.mount, index, "--json") for index in (0, 1)]
        told = [json.loads(pod.communicate(timeout=120)[0]) for pod in pods]
    assert [pod.returncode for pod in pods] == [0, 0], told
    (seen,) = [check["shown"] for check in told[0]["checks"] if check["check"] == "seen after"]
    assert int(seen.split()[0]) >= 500, "the mean of both ways, each a second late"


def test_alone_and_outside_a_cluster(tmp_path: Path) -> None:
    pod = start(tmp_path, 0, "--seen", "1")
    table = pod.communicate(timeout=120)[0]
    assert pod.returncode == 0
    assert "warn     reading on another node was not proven" in table


def flat(table: str) -> str:
    """A table's text without its line breaks, which depend on how long the paths are."""
    return " ".join(table.split())


def test_a_hung_volume_is_told_and_left_behind(fault_fs: FaultFs) -> None:
    with fault_fs.faults.hang("fsync"):
        said: list[str] = []
        result = worker.work(job(fault_fs.mount), 3.0, said.append)
        assert bad(result) == {"answers": "FAIL"}
        ((_, finding),) = result.findings()
        assert finding.what.startswith(f"the volume at {fault_fs.mount} hangs: no answer for ")
        assert "writing, syncing and renaming 3.0 MB" in finding.what
        assert said[-1] == "writing, syncing and renaming 3.0 MB"
        pod = start(fault_fs.mount, 0, "--silence", "3")
        assert pod.wait(60) == 1, "the program itself ends, whatever its child does"
    assert "hangs: no answer" in flat(pod.communicate(timeout=60)[0])


def test_a_child_that_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = worker.work(job(tmp_path), 30.0, lambda line: None)
    assert bad(result) == {"answers": "FAIL"}
    assert "ended with 1 while starting" in result.findings()[0][1].what


def test_a_pool_that_is_never_mounted(tmp_path: Path) -> None:
    pod = start(tmp_path, 0, "--pool", "--deadline", "1")
    table = pod.communicate(timeout=60)[0]
    assert pod.returncode == 1
    assert f"the pool is not mounted at {tmp_path} after 1 s" in flat(table)
    assert list(tmp_path.iterdir()) == [], "nothing is written below a mount that is not there"


def test_bad_usage_tells_all_faults(tmp_path: Path) -> None:
    pod = start(Path("relative"), 0, "--release", "../x", "--deadline", "0", "--size", "-1")
    _, errors = pod.communicate(timeout=60)
    assert pod.returncode == 2
    assert len(errors.splitlines()) == 4


def test_the_message_is_short_and_begins_with_what_failed(tmp_path: Path) -> None:
    result = Result(job(tmp_path))
    for name in ("space", "times", "look-up"):
        result.add(0, Check(name, "warn", "x", Finding(f"{name} " + "w" * 500, "f" * 500)))
    result.add(0, Check("read", "FAIL", "x", Finding("wrong bytes", "do not use it")))
    text = report.message(result)
    assert text.splitlines()[1] == "FAIL: wrong bytes. Fix: do not use it"
    assert text.startswith("storage-check: FAILED (read); read: ")
    assert len(text) <= report.MOST_MESSAGE
