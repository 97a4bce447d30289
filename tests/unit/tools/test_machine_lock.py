"""Two runs at once: the second is told who holds the cluster, and nothing else happens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_cluster import machine_lock as module
from local_cluster.problem import Problem
from local_cluster.settings import REPO, Places

HOLDER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from local_cluster.machine_lock import machine_lock
with machine_lock("make up"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "PLACES", Places())


@pytest.mark.usefixtures("_own_cache")
def test_second_run_is_refused_and_a_killed_holder_frees_the_lock() -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(REPO / "tools")], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Problem, match=rf"`make up` in .*, pid {holder.pid}"), module.machine_lock("make test"):
            pass
        assert f"pid {holder.pid}" in module.holder()
    finally:
        holder.kill()
        holder.wait()
    assert module.holder() == ""
    with module.machine_lock("make test"):
        assert f"pid {os.getpid()}" in module.holder()
