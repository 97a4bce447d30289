"""`python -m testing all`, `fast`, or one part: see PARTS; also `drills`, `curvine`, `render-bench` and `golden`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

from local_cluster import demo
from local_cluster.machine_lock import machine_lock
from local_cluster.problem import Problem
from local_cluster.progress import table
from local_cluster.providers.kind import Kind

from . import lint, scale, site
from .beside import Beside
from .tools import control_plane, environment

Part = Callable[[], bool]

SLOWEST = ("--durations=15", "--durations-min=1")
"""Where the time of a part goes, for the next person who looks for it."""


def pytest(*arguments: str) -> Part:
    """A part that is one pytest run, with our helm first in PATH."""
    return lambda: (
        subprocess.run(
            [sys.executable, "-m", "pytest", *SLOWEST, *arguments], env=environment(), check=False
        ).returncode
        == 0
    )


def cluster(marked: str = "not long and not curvine") -> bool:
    """The cluster tests with these marks; makes the cluster when there is none, and keeps it."""
    with machine_lock("make cluster"):
        kind = Kind()
        demo.image_values(demo.cluster(kind))
        print(table(), flush=True)
        # The long ones print what they measure.
        shown = ["-v", "-s"] if marked in ("long", "curvine") else ["-v"]
        return pytest(
            *shown, "-m", marked, "tests/cluster", "--cluster-type", "external", "--kubeconfig", str(kind.kubeconfig)
        )()


def curvine() -> int:
    """The tests of a real pool, for which somebody must give Curvine's image: it is on no package registry."""
    if not os.environ.get("CURVINE_IMAGE"):
        print(
            "skipped: CURVINE_IMAGE is not set. It is a reference that the nodes can pull, or the path of an image archive:\n"
            "  make test-curvine CURVINE_IMAGE=ghcr.io/curvineio/curvine:v0.4.1\n"
            "With CURVINE_CSI_IMAGE, CSI_PROVISIONER_IMAGE and CSI_REGISTRAR_IMAGE the CSI driver is tried as well."
        )
        return 0
    return 0 if cluster("curvine") else 1


def on_control_plane(tests: str) -> Part:
    """A part that runs on a real control plane of plain processes, with KWOK for the nodes."""

    def run() -> bool:
        os.environ["PROGRAMS"] = str(control_plane())
        return pytest("-q", tests)()

    return run


def patch() -> bool:
    """The L2 patch's admission cases: a real API server, and each mechanism in turn."""
    os.environ["PROGRAMS"] = str(control_plane())
    return pytest("-q", "tests/patch")()


PARTS: dict[str, Part] = {
    "lint": lint.run,
    "docs": site.run,
    "unit": pytest("-q", "-n", "auto", "tests/unit"),
    "chart": pytest("-q", "-n", "auto", "tests/chart"),
    "patch": patch,
    "router": pytest("-q", "-n", "auto", "tests/router"),
    "faults": pytest("-q", "tests/faultfs", "tests/l2faults", "tests/pool_mount"),
    "property": pytest("-q", "-n", "auto", "tests/property"),
    "operator": on_control_plane("tests/iec_operator"),
    "scheduling": on_control_plane("tests/scheduling"),
    "cluster": cluster,
}
FIRST, LAST = ["lint", "docs"], ["cluster"]
"""Parts of `all` that run alone: the engines of the cluster's need both cores."""
ONE_BY_ONE = ["faults", "patch", "operator", "scheduling"]
"""Parts whose tests run one after the other, and mostly wait. In `all` they run in one process beside those of SPREAD."""
SPREAD = ["unit", "chart", "router", "property"]
"""Parts whose tests pytest-xdist spreads over the cores. tests/ports.py relies on it: beside them runs one other test process."""

RUNS = {
    "fast": ["lint", "docs", "unit", "chart", "patch"],
    "one-by-one": ONE_BY_ONE,
    **{name: [name] for name in PARTS},
}

Row = tuple[str, float, bool]


def timed(name: str, part: Part) -> Row:
    """Run a part below its name; seconds, and whether it passed."""
    print(f"\n=== {name} ===", flush=True)
    begin = time.monotonic()
    try:
        passed = part()
    except Problem as problem:
        print(f"error: {problem}")
        passed = False
    return name, time.monotonic() - begin, passed


def in_turn(names: list[str]) -> list[Row]:
    return [timed(name, PARTS[name]) for name in names]


def everything() -> list[Row]:
    """All parts."""
    rows = in_turn(FIRST)
    # Compiled before anything runs beside it: no test's time-out should have to hold against a compiler as well.
    rows.append(timed("programs", lambda: control_plane().is_dir()))
    with Beside(", ".join(ONE_BY_ONE), [sys.executable, "-m", "testing", "one-by-one"]) as beside:
        rows += in_turn(SPREAD)
        rows.append(timed("one-by-one", beside.passed))
    return [*rows, *in_turn(LAST)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="testing", description=__doc__)
    parser.add_argument("run", choices=["all", *RUNS, "golden", "drills", "curvine", "render-bench"])
    chosen = parser.parse_args().run
    if chosen == "golden":
        return 0 if pytest("-q", "tests/chart", "tests/unit/emulators", "--update-golden")() else 1
    if chosen == "render-bench":
        return scale.run(environment())
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    if chosen == "drills":
        return 0 if cluster("long") else 1
    if chosen == "curvine":
        return curvine()
    rows = everything() if chosen == "all" else in_turn(RUNS[chosen])
    print(
        "\n" + "\n".join(f"{took:8.1f} s  {name:10} {'passed' if passed else 'FAILED'}" for name, took, passed in rows)
    )
    return 0 if all(passed for _, _, passed in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
