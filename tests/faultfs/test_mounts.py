"""No mount is left behind, and one that is does not stop the next start."""

# ruff: noqa: PTH208 - names, not paths

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faultfs import mounts, prerequisites
from faultfs.daemon import FaultFs


def test_stop_takes_the_mount_away(fault_fs: FaultFs) -> None:
    (fault_fs.mount / "f").write_bytes(b"1")
    assert len(mounts.at(fault_fs.mount)) == 1
    fault_fs.stop()
    assert mounts.at(fault_fs.mount) == []
    assert os.listdir(fault_fs.mount) == []
    assert (fault_fs.backing / "f").read_bytes() == b"1"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_take_the_mount_away_even_if_a_file_is_open(fault_fs: FaultFs, number: int) -> None:
    (fault_fs.mount / "f").write_bytes(b"1")
    fd = os.open(fault_fs.mount / "f", os.O_RDONLY)
    fault_fs.process.send_signal(number)
    assert fault_fs.process.wait(20) == 0
    assert mounts.at(fault_fs.mount) == []
    with pytest.raises(OSError) as caught:
        os.close(fd)
    assert caught.value.errno == errno.ENOTCONN


def test_kill_leaves_enotconn_and_the_next_start_cleans_it(fault_fs: FaultFs) -> None:
    (fault_fs.mount / "f").write_bytes(b"1")
    fault_fs.kill()
    for action in (fault_fs.mount.stat, (fault_fs.mount / "f").read_bytes):
        with pytest.raises(OSError) as caught:
            action()
        assert caught.value.errno == errno.ENOTCONN
    fault_fs.start()
    assert (fault_fs.mount / "f").read_bytes() == b"1"
    assert len(mounts.at(fault_fs.mount)) == 1
    # Faults go with the process that had them.
    assert fault_fs.faults.ask("rules")["rules"] == []


def test_killed_twice_is_cleaned_twice(fault_fs: FaultFs) -> None:
    fault_fs.kill()
    assert mounts.clean(fault_fs.mount) == 1
    fault_fs.start()
    fault_fs.process.kill()
    fault_fs.process.wait()
    assert mounts.clean(fault_fs.mount) == 1
    assert mounts.clean(fault_fs.mount) == 0


def _command(fault_fs: FaultFs, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "faultfs", *map(str, arguments)]
    tools = Path(prerequisites.__file__).parent.parent
    env = {**os.environ, "PYTHONPATH": str(tools)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=env, timeout=30, cwd=fault_fs.mount.parent
    )


def test_a_live_mount_is_not_taken_from_its_server(fault_fs: FaultFs) -> None:
    done = _command(fault_fs, fault_fs.mount, fault_fs.backing, "--control", "other")
    assert done.returncode == 1
    assert f"process {fault_fs.process.pid} serves it. fix:" in done.stderr
    (fault_fs.mount / "f").write_bytes(b"1")


def test_wrong_directories_are_all_told(fault_fs: FaultFs, tmp_path: Path) -> None:
    done = _command(fault_fs, tmp_path / "a", tmp_path / "b", "--control", tmp_path / "c/socket")
    assert done.returncode == 1
    for text in (f"MOUNT={tmp_path}/a", f"BACKING={tmp_path}/b", f"--control={tmp_path}/c/socket"):
        assert text in done.stderr
    assert done.stderr.count("fix:") == 3


def test_a_missing_library_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    assert [text for text in prerequisites.missing() if "apt-get install fuse3" in text]


def test_it_ends_with_its_parent(fuse: None, tmp_path: Path) -> None:
    """A test run that is killed leaves no mount."""
    code = "import os, sys, pathlib; from faultfs.daemon import FaultFs; FaultFs(pathlib.Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    tools = Path(prerequisites.__file__).parent.parent
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(tools)}, check=False
    )
    end = time.monotonic() + 20
    while mounts.at(tmp_path / "mount"):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_backing_may_lie_below_the_mount(fuse: None, tmp_path: Path) -> None:
    """A volume is mounted over the directory that is handed to it."""
    (tmp_path / "mount/.backing").mkdir(parents=True)
    (tmp_path / "backing").symlink_to("mount/.backing")
    with FaultFs(tmp_path) as running:
        (running.mount / "f").write_bytes(b"1")
        assert os.listdir(running.mount) == ["f"]
    assert (tmp_path / "mount/.backing/f").read_bytes() == b"1"
