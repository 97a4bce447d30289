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
from .tools import control_plane, environment

Part = Callable[[], bool]


def pytest(*arguments: str) -> Part:
    """A part that is one pytest run, with our helm first in PATH."""
    return lambda: (
        subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment(), check=False).returncode == 0
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
RUNS = {"all": list(PARTS), "fast": ["lint", "docs", "unit", "chart", "patch"], **{name: [name] for name in PARTS}}


def main() -> int:
    parser = argparse.ArgumentParser(prog="testing", description=__doc__)
    parser.add_argument("run", choices=[*RUNS, "golden", "drills", "curvine", "render-bench"])
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
    rows: list[tuple[str, float, bool]] = []
    for name in RUNS[chosen]:
        print(f"\n=== {name} ===", flush=True)
        begin = time.monotonic()
        try:
            passed = PARTS[name]()
        except Problem as problem:
            print(f"error: {problem}")
            passed = False
        rows.append((name, time.monotonic() - begin, passed))
    print(
        "\n" + "\n".join(f"{took:8.1f} s  {name:10} {'passed' if passed else 'FAILED'}" for name, took, passed in rows)
    )
    return 0 if all(passed for _, _, passed in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
