"""pool-master and pool-disk as programs: exit codes, all reasons on stderr, nothing made where they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tiered_kv_cache import __main__ as program

from .server import PoolServer

# The API server of the test instead of that of the Pod's cluster.
CODE = """
import sys
from kubernetes import client
from tiered_kv_cache import __main__ as program
from tiered_kv_cache.keeper import kube
url = sys.argv.pop(1)
kube.connect = lambda: kube.KubernetesApi(client.ApiClient(client.Configuration(host=url)))
sys.exit(program.main(sys.argv[1:]))
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(Path(program.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=env, timeout=120, check=False
    )  # fmt: skip


def master(server: PoolServer, data: Path, replicas: int = 1) -> subprocess.CompletedProcess[str]:
    return run("-c", CODE, server.url, "pool-master", "--data", str(data), "--cluster-id", "kv-pool", "--replicas", str(replicas),
               "--pod", "masters-0", "--namespace", "kv", "--deadline", "30")  # fmt: skip


def test_a_master_starts_and_is_refused(server: PoolServer, tmp_path: Path) -> None:
    server.claim("data-masters-0")
    done = master(server, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout.splitlines()[0]
        == "pool-master: cluster kv-pool: master 0 of 1, its volume is empty, as at a first start"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal", "meta"]
    members = json.dumps({"clusterId": "older", "uids": ["uid-data-masters-0"] * 3, "held": True})
    server.claim("data-masters-0", annotation=members)
    done = master(server, tmp_path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("pool-master: ") and ". Fix: " in line for line in lines)


def test_a_master_outside_a_cluster_is_bad_usage(tmp_path: Path) -> None:
    done = run("-m", "tiered_kv_cache", "pool-master", "--data", str(tmp_path), "--cluster-id", "x", "--replicas", "1",
               "--pod", "masters-0", "--namespace", "kv")  # fmt: skip
    assert done.returncode == 2
    assert "runs in no cluster. Fix: " in done.stderr


def test_a_disk_with_several_faults(tmp_path: Path) -> None:
    done = run("-m", "tiered_kv_cache", "pool-disk", "--path", str(tmp_path), "--host-path", "/mnt/nvme0", "--size", str(1 << 60),
               "--cluster-id", "kv-pool", "--user", "0", "--group", "0", "--values-prefix", "x.disk")  # fmt: skip
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert [line.split()[1] for line in lines] == ["--path", "x.disk.size:"]
    assert list(tmp_path.iterdir()) == []
