"""A keeper whose volume is a mount that others make: it begins when the mount is there, and ends when it is told to before."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiered_kv_cache.keeper import config

from .volume import Volume

ENV = {**os.environ, "PYTHONPATH": str(Path(config.__file__).parents[2]), "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    point = tmp_path / "point"
    point.mkdir()
    file = tmp_path / "keeper.json"
    file.write_text(json.dumps({"mount": str(point), "port": 0}))
    return [sys.executable, "-m", "tiered_kv_cache", "keeper", "--config", str(file), "--pool-wait", "300"]


def test_told_to_end_while_it_waits(command: list[str]) -> None:
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as keeper:
        assert keeper.stdout
        assert "waiting for the pool" in keeper.stdout.readline()
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait(30) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_begins_when_the_mount_is_there(command: list[str], volume: Volume, tmp_path: Path) -> None:
    volume.root().put("a")
    before = set(volume.mount.rglob("*"))
    # A mount namespace of its own: nothing is left behind, however the test ends.
    script = f'"$@" & sleep 2; mount --bind {volume.mount} {tmp_path}/point; wait'
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "keeper", *command]
    with subprocess.Popen(
        words, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as keeper:
        try:
            end = time.monotonic() + 60
            while set(volume.mount.rglob("*")) == before:
                assert time.monotonic() < end, "nothing was kept behind the mount"
                time.sleep(0.1)
            assert list((tmp_path / "point").iterdir()) == []
        finally:
            os.killpg(keeper.pid, signal.SIGKILL)
