"""What the tests start ends with them, whatever happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_STARTER = """
import sys, time
from pathlib import Path
from scheduling.processes import Processes
processes = Processes(Path(sys.argv[1]))
processes.start("child", ["sh", "-c", "echo $$; exec sleep 600"])
processes.wait_for("its number", lambda: bool((Path(sys.argv[1]) / "child.log").read_text().strip()), 10)
print((Path(sys.argv[1]) / "child.log").read_text().strip(), flush=True)
time.sleep(600)
"""


def _alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_killed_run_leaves_no_process(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER, tmp_path], stdout=subprocess.PIPE, text=True, env=env
    ) as run:
        assert run.stdout
        child = int(run.stdout.readline())
        assert _alive(child)
        run.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while _alive(child):
        assert time.monotonic() < deadline, f"process {child} outlived the run"
        time.sleep(0.05)
