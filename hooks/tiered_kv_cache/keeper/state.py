"""What the keeper last knew, as one object that other threads take whole: metrics and status never wait for the volume."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import usage
from .config import Settings
from .context import Context
from .ghosts import Ghosts
from .policy import Policy
from .sweep import Sweep
from .watch import Watch

MOST_SHOWN = 2000
"""Fingerprints in a snapshot; the largest ones."""


@dataclass(frozen=True)
class Snapshot:
    """``taken``: monotonic seconds. ``scopes``: name, bytes, quota, files, limit of files. The rest as JSON has it."""

    taken: float
    scopes: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    fingerprints: list[dict[str, Any]] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    """Files that are not the keeper's, by line of business."""
    counters: dict[str, dict[tuple[str, ...], int]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    pool: str = ""
    dry: bool = False


class State:
    """The last snapshot, and what is true right now without asking the volume."""

    def __init__(self, settings: Settings, watch: Watch, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self.watch, self._clock = settings, watch, clock
        self.snapshot = Snapshot(clock())
        self.leading = False
        self.problem = ""
        """Why nothing is done, for people; empty while all is well."""

    def age(self) -> float:
        """Seconds since the snapshot."""
        return self._clock() - self.snapshot.taken

    def stuck(self) -> tuple[float, str]:
        """The operation that the volume does not answer: seconds, and what; (0, "") if it answers in time."""
        seconds, what = self.watch.stuck()
        return (seconds, what) if seconds > self.settings.deadline else (0.0, "")

    def healthy(self) -> bool:
        """Worth keeping: one that waits for its turn is; one that hangs is not."""
        return not self.stuck()[0]

    def as_json(self) -> dict[str, Any]:
        """For `keeper status`."""
        shown, (seconds, what) = self.snapshot, self.stuck()
        return {
            "leading": self.leading, "problem": self.problem, "ageSeconds": round(self.age(), 1), "dryRun": shown.dry,
            "stuck": {"seconds": round(seconds, 1), "operation": what}, "pool": shown.pool,
            "scopes": [
                {"name": n, "bytes": b, "quotaBytes": q, "files": f, "quotaFiles": m} for n, b, q, f, m in shown.scopes
            ],
            "fingerprints": shown.fingerprints, "unknownFiles": shown.unknown, "numbers": shown.numbers,
            "counters": {
                name: [{"labels": list(key), "value": value} for key, value in sorted(values.items())]
                for name, values in shown.counters.items()
            },
        }  # fmt: skip


def take(x: Context, sweep: Sweep, ghosts: Ghosts, policy: Policy, pool: str) -> Snapshot:
    """A snapshot of the present."""
    counts, table = x.counts, x.table
    largest = sorted(table.of(), key=lambda f: -x.accounting.charge(f.size, f.blocks))[:MOST_SHOWN]
    now = x.clock.now()
    counts.clamped[("future",)] = sum(f.clamped.future for f in largest)
    counts.clamped[("past",)] = sum(f.clamped.past for f in largest)
    return Snapshot(
        taken=time.monotonic(),
        scopes=policy.levels(),
        fingerprints=[
            {
                "lineOfBusiness": f.lob, "model": f.model, "fingerprint": f.name, "objects": f.objects,
                "bytes": x.accounting.charge(f.size, f.blocks), "apparentBytes": f.size, "blockBytes": f.blocks * 512,
                "tmpFiles": f.tmp_files, "tmpBytes": x.accounting.charge(f.tmp_size, f.tmp_blocks),
                "untracked": f.untracked, "plainFiles": f.plain_files, "idleSeconds": max(0, now - f.newest) if f.newest else None,
            }
            for f in largest
        ],
        unknown={
            lob: usage.of_tenant(table, lob).other_files - sum(f.tmp_files + f.untracked + f.plain_files for f in table.of(lob))
            for lob in ([*policy.tenants(), ""])
        },
        counters={
            name: dict(getattr(counts, name))
            for name in ("removed", "removed_bytes", "cleaned", "spared", "errors", "logs", "marked", "clamped")
        },
        numbers={
            "objects": table.objects, "complete": int(table.complete), "sweeps": counts.sweeps,
            "sweepSeconds": round(counts.sweep_seconds, 3), "sweepDone": sweep.done, "sweepTotal": sweep.total,
            "operations": x.tree.pace.spent, "suspects": len(ghosts.suspects), "ghostsKept": counts.ghosts_kept,
            "clockJumps": x.clock.jumps, "clockSteady": int(x.clock.steady),
        },
        pool=pool,
        dry=x.tree.dry,
    )  # fmt: skip
