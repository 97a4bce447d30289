"""Both Pods' parts of a check, as threads of the test."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiered_kv_cache.storage.checks import Check
from tiered_kv_cache.storage.job import Job
from tiered_kv_cache.storage.peer import RUNNING, Peer
from tiered_kv_cache.storage.result import Result
from tiered_kv_cache.storage.steps import Steps
from tiered_kv_cache.storage.worker import _take as take

RUNS = Peer(RUNNING, "demo-storage-x", "node-x", seconds=1e6)


class Says:
    """An API server that always says the same of the other Pod."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def look(self) -> Peer:
        """See Peers."""
        return self._peer


def job(directory: Path, index: int = 0, **change: Any) -> Job:
    """A part as the chart starts it, with a small file and little patience."""
    known: dict[str, Any] = {
        "directory": str(directory), "line_of_business": "retail", "release": "kv.demo", "run": "run-1", "index": index,
        "node": f"node-{index}", "volume_type": "existingClaim", "size": 3_000_000, "quota": 0, "block": 0, "pool": False,
        "load_base_ms": 1e6, "load_ms_per_mib": 20.0, "lookup_ms": 1e6, "deadline": 60.0, "patience": 1.0, "seen": 1.0,
    }  # fmt: skip
    return Job(**(known | change))


def run(part: Job, peer: Peer = RUNS) -> Result:
    """One part alone."""
    result = Result(part)
    Steps(part, Says(peer), lambda told: take(result, told)).run()
    return result


def both(first: Path, second: Path | None = None, **change: Any) -> tuple[Result, Result]:
    """Two parts side by side; ``second``: another volume than the first one's."""
    parts = [job(first, 0, **change), replace(job(first, 1, **change), directory=str(second or first))]
    results: dict[int, Result] = {}

    def one(part: Job) -> None:
        results[part.index] = run(part)

    threads = [threading.Thread(target=one, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results[0], results[1]


def row(result: Result, name: str, index: int | None = None) -> Check:
    """One Pod's row; its own by default."""
    return result.checks[result.job.index if index is None else index, name]


def bad(result: Result) -> dict[str, str]:
    """Rows that are not pass, with their verdicts."""
    return {name: verdict for name, _, verdict in result.rows() if verdict != "pass"}


def left(volume: Path) -> list[str]:
    """What lies below the line of business."""
    return sorted(str(path.relative_to(volume / "v1" / "retail")) for path in (volume / "v1" / "retail").rglob("*"))
