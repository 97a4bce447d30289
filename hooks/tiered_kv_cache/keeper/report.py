"""The status table for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from .units import human


def show(status: dict[str, Any], console: Console) -> None:
    """Print what /status said."""
    stuck = status["stuck"]
    if status["problem"]:
        console.print(f"problem: {status['problem']}", highlight=False, markup=False, soft_wrap=True)
    if stuck["seconds"]:
        console.print(f"the volume has not answered for {stuck['seconds']:.0f} s: {stuck['operation']}", markup=False)
    numbers = status["numbers"]
    if status["ageSeconds"] > 60 or not numbers.get("complete"):
        console.print(f"as of {status['ageSeconds']:.0f} s ago; sweep {_sweep(numbers)}", highlight=False)
    scopes = Table("scope", "used", "quota", "%", "files", title="Quotas", title_justify="left")
    for one in status["scopes"]:
        quota = one["quotaBytes"]
        part = f"{100 * one['bytes'] / quota:.1f}" if quota else ""
        scopes.add_row(one["name"], human(one["bytes"]), human(quota) if quota else "none", part, str(one["files"]))
    console.print(scopes)
    roots = Table(
        "line of business",
        "model",
        "fingerprint",
        "objects",
        "used",
        "tmp",
        "idle",
        title="Roots",
        title_justify="left",
    )
    for one in status["fingerprints"]:
        idle = one["idleSeconds"]
        roots.add_row(
            one["lineOfBusiness"], one["model"], one["fingerprint"], str(one["objects"]), human(one["bytes"]),
            f"{one['tmpFiles']}", "" if idle is None else _time(idle),
        )  # fmt: skip
    console.print(roots)
    for lob, count in status["unknownFiles"].items():
        if count:
            console.print(f"{count} unknown files of {lob or 'nobody'}: never touched", highlight=False, markup=False)
    for name in ("removed", "cleaned", "spared", "errors"):
        done = ", ".join(
            f"{' '.join(v['labels'])} {v['value']}" for v in status["counters"].get(name, []) if v["value"]
        )
        if done:
            verb = "would be " if status["dryRun"] and name in ("removed", "cleaned") else ""
            console.print(f"{verb}{name}: {done}", highlight=False, markup=False, soft_wrap=True)
    if numbers.get("ghostsKept"):
        console.print(f"{numbers['ghostsKept']} ghosts stay: {status['pool']}", highlight=False, markup=False)


def _sweep(numbers: dict[str, Any]) -> str:
    total = numbers.get("sweepTotal", 0)
    return f"{numbers.get('sweepDone', 0)} of {total} steps" if total else "not begun"


def _time(seconds: int) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
