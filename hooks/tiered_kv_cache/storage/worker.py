"""Runs the process that touches the volume and reads what it tells. One that hangs is left behind: nothing can end it."""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from ..findings import Finding
from .checks import FAIL, Check
from .job import Job
from .result import Result

Say = Callable[[str], None]
LAST_SECONDS = 10.0
"""Beyond the job's own deadline, within which it ends by itself."""


def work(job: Job, silence: float, say: Say) -> Result:
    """The rows of both Pods. ``silence``: seconds after which a call counts as hung; ``say`` gets what goes on."""
    result = Result(job)
    process = subprocess.Popen(
        [sys.executable, "-m", "tiered_kv_cache.storage.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    # One that ended at once is told below.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(job.text().encode() + b"\n")
        process.stdin.close()
    end = time.monotonic() + job.deadline + LAST_SECONDS
    buffer, doing, done, heard = b"", "starting", False, time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not done:
            now = time.monotonic()
            wait = min(end, heard + silence) - now
            if wait <= 0:
                result.add(job.index, _hung(job, doing, now - heard))
                # A call that has reached the volume's server or FUSE process does not end by this.
                process.kill()
                return result
            if not selector.select(wait):
                continue
            part = process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not part:
                break
            heard = time.monotonic()
            *lines, buffer = (buffer + part).split(b"\n")
            for line in lines:
                told = json.loads(line)
                if told.get("doing") not in (None, doing):
                    doing = told["doing"]
                    say(doing)
                done = done or bool(told.get("done"))
                _take(result, told)
    if not done:
        code = process.wait()
        what = f"the process that works on the volume ended with {code} while {doing}"
        fix = "see its last lines above; with -9 raise hooks.resources.limits.memory"
        result.add(job.index, Check("answers", FAIL, "ended", Finding(what, fix)))
    return result


def _take(result: Result, told: dict[str, Any]) -> None:
    if "check" in told:
        result.add(int(told["index"]), Check.from_json(told["check"]))
    elif "node" in told:
        result.nodes[int(told["index"])] = str(told["node"])[:253]


def _hung(job: Job, doing: str, seconds: float) -> Check:
    what = f"the volume at {job.directory} hangs: no answer for {seconds:.0f} s while {doing}"
    fix = {
        "curvine": "see the pool's masters, workers and the client Pod of this node (docs/pool.md)",
    }.get(job.volume_type, "mend its server, or its client or CSI driver on this node")
    return Check("answers", FAIL, "hangs", Finding(what, f"{fix}; this Pod ends when the call does"))
