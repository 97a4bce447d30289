"""pool-watch as a program over a real FUSE mount."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from faultfs.daemon import FaultFs
from tiered_kv_cache import __main__ as program
from tiered_kv_cache.pool import watch as watches
from tiered_kv_cache.pool.reporter import Reporter
from tiered_kv_cache.pool.watch import Watch, lines_below

from .server import PoolServer, api

PATIENCE = 60.0
# The fault filesystem calls its mount so.
CODE = (
    "import sys; from tiered_kv_cache import __main__ as program; from tiered_kv_cache.pool import watch; "
    "watch.MOUNT = 'mount'; sys.exit(program.main(sys.argv[1:]))"
)


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "did not come true"
        time.sleep(0.02)


@pytest.fixture
def retail(fuse: None, tmp_path: Path) -> Iterator[FaultFs]:
    (tmp_path / "pool" / "retail").mkdir(parents=True)
    with FaultFs(tmp_path / "pool" / "retail") as running:
        yield running


class Program:
    """The running program."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, "pool-watch", "--directory", str(directory), "--line-of-business", "retail",
             "--port", "0", "--deadline", "0.3", "--period", "0.1"],
            stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(Path(program.__file__).parents[1])},
        )  # fmt: skip
        assert self.process.stdout is not None
        found = re.search(r"port (\d+)", self.process.stdout.readline())
        assert found is not None
        self.url = f"http://127.0.0.1:{found[1]}"
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def get(self, page: str) -> httpx.Response:
        with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
            return client.get(self.url + page)

    def health(self) -> tuple[int, str]:
        answer = self.get("/healthz")
        # Times differ from run to run.
        return answer.status_code, answer.text.partition(" since")[0].strip()


@pytest.fixture
def running(retail: FaultFs, tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path / "pool")
    yield made
    made.process.kill()
    made.process.wait()


def test_health_and_metrics_follow_the_mount(running: Program, retail: FaultFs) -> None:
    until(lambda: running.health() == (200, "ok"))
    retail.kill()
    until(lambda: running.health() == (503, "retail: dead (ENOTCONN)"))
    assert 'tiered_kv_cache_pool_mount_up{line_of_business="retail"} 0.0' in running.get("/metrics").text
    retail.start()
    until(lambda: running.health() == (200, "ok"))
    retail.stop()
    until(lambda: running.health() == (503, "retail: absent"))
    retail.start()
    until(lambda: running.health() == (200, "ok"))
    with retail.faults.hang("readdir"):
        until(lambda: running.health() == (503, "retail: hung"))
        assert 'checks_total{line_of_business="retail",state="hung"}' in running.get("/metrics").text
    until(lambda: running.health() == (200, "ok"))
    assert running.get("/else").status_code == 404


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_while_a_call_hangs(running: Program, retail: FaultFs, number: signal.Signals) -> None:
    with retail.faults.hang("readdir"):
        until(lambda: running.health() == (503, "retail: hung"))
        began = time.monotonic()
        running.process.send_signal(number)
        assert running.process.wait(PATIENCE) == 0
        print(f"ended after {time.monotonic() - began:.3f} s")
        assert len(retail.faults.under_way("readdir")) == 1, "and the call still hangs"


def test_the_helper_ends_after_the_watch(running: Program, retail: FaultFs) -> None:
    until(lambda: running.health() == (200, "ok"))
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
    helpers = [int(pid) for pid in children.read_text().split()]
    assert len(helpers) == 1
    running.process.kill()
    running.process.wait()
    until(
        lambda: not Path(f"/proc/{helpers[0]}/cmdline").exists() or not Path(f"/proc/{helpers[0]}/cmdline").read_bytes()
    )


def test_an_api_server_that_is_down_does_not_stop_the_watch(
    retail: FaultFs, server: PoolServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "MOUNT", "mount")
    server.objects["pods", "pool-x7"] = {"metadata": {"name": "pool-x7", "resourceVersion": "1"}}
    server.status = 500
    said: list[str] = []
    reporter = Reporter(api(server), "kv", "pool-x7", said.append)
    reporter.start()
    watch = Watch(lines_below(str(tmp_path / "pool"), ["retail"]), PATIENCE, 1, reporter)
    watch.round()
    retail.kill()
    watch.round()
    assert watch.board.problem().startswith("retail: dead (ENOTCONN)")
    until(lambda: any("could not be told: 500" in line for line in said))
    server.status = 0

    def told() -> bool:
        watch.round()
        return [event["reason"] for event in server.events] == ["PoolMountDead"]

    until(told)
    assert (
        server.objects["pods", "pool-x7"]["metadata"]["annotations"]["tiered-kv-cache.io/pool-mount"]
        == watch.board.text()
    )
    watch.close()


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    words = "pool-watch --directory pool --line-of-business a/b --line-of-business x --line-of-business x --period 0"
    try:
        assert program.main(words.split()) == program.USAGE
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("error: --") and ". Fix: " in line for line in lines)
