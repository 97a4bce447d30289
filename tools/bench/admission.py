"""Seconds of admitting one Pod with no patch, the webhook, and the policy: server-side dry run, in one run.

    PROGRAMS=<folder of kube and etcd> PYTHONPATH=hooks:tools:tests python -m bench.admission [--rounds 500] [--shape v32|v37]
        [--policy FILE --policy-namespace NAME] [--json FILE]

A real etcd and API server on loopback, and the real server process of `l2-patch serve`. All three are tried in each round, in
turn, so that a busy machine hits all alike. Printed: p50 and p99 of the time that the client waits, and the median and p99 of the
difference to "none" of the same round. FILE holds the rendered policies, bindings and parameter object, for namespace NAME.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from patch import apiserver, webhook
from patch.cases import shapes
from patch.cases.model import BASE
from patch.judge import attempt
from patch.mechanism import Place
from scheduling.api import Api

NONE, WEBHOOK, POLICY = "none", "webhook", "policy"
WARM_UP = 50
GOALS = {WEBHOOK: 10.0, POLICY: 1.0}
"""Milliseconds over none at p99."""

Json = dict[str, Any]


@contextmanager
def contenders(args: argparse.Namespace, folder: Path) -> Iterator[tuple[Api, dict[str, str]]]:
    """The API server, and a namespace for each that takes part."""
    spaces = {NONE: apiserver.PLAIN, WEBHOOK: "bench-webhook"}
    with ExitStack() as stack:
        programs = Path(os.environ["PROGRAMS"])
        plane, processes = stack.enter_context(apiserver.running(programs, _new(folder / "api")))
        api = plane.api
        if args.policy:
            spaces[POLICY] = args.policy_namespace
        apiserver.namespaces(api, spaces.values())
        place = Place(plane, processes, programs, _new(folder / "webhook"), [spaces[WEBHOOK]])
        server = stack.enter_context(webhook.serving(place))
        server.parameters({f"{spaces[WEBHOOK]}.{key}": text for key, text in BASE.items()})
        for document in yaml.safe_load_all(Path(args.policy).read_text()) if args.policy else ():
            if document:
                api.apply(document)
        yield api, spaces


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def wait(api: Api, pod: Json, spaces: dict[str, str]) -> None:
    """Until each does what it should."""
    deadline = time.monotonic() + 60
    for name, space in spaces.items():
        while _patched(api, pod, space) is (name == NONE):
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} does not act in namespace {space}: {attempt(api, space, pod).message}")
            time.sleep(0.2)


def _patched(api: Api, pod: Json, space: str) -> bool:
    found = attempt(api, space, pod).pod
    return found is not None and "tkc-l2" in [volume["name"] for volume in found["spec"]["volumes"]]


def measure(api: Api, pod: Json, spaces: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Milliseconds by contender, one a round."""
    taken: dict[str, list[float]] = {name: [] for name in spaces}
    order = list(spaces)
    for number in range(rounds + WARM_UP):
        for name in order[number % len(order) :] + order[: number % len(order)]:
            began = time.perf_counter()
            answer = api.answer(f"/api/v1/namespaces/{spaces[name]}/pods", pod, dryRun="All")
            spent = (time.perf_counter() - began) * 1000
            assert answer.status_code == 201, answer.text
            if number >= WARM_UP:
                taken[name].append(spent)
    return taken


def percentile(values: list[float], of_hundred: int) -> float:
    """By the nearest rank."""
    return sorted(values)[max(0, -(-len(values) * of_hundred // 100) - 1)]


def rows(taken: dict[str, list[float]]) -> list[Json]:
    """Figures by contender, in milliseconds."""
    found = []
    for name, values in taken.items():
        over = [value - none for value, none in zip(values, taken[NONE], strict=True)]
        found.append({
            "name": name, "p50": statistics.median(values), "p99": percentile(values, 99),
            "p50_over_none": statistics.median(over),
            "p99_over_none": percentile(values, 99) - percentile(taken[NONE], 99),
            "p99_of_difference": percentile(over, 99),
        })  # fmt: skip
    return found


def table(found: list[Json], rounds: int) -> str:
    """Markdown."""
    lines = [
        f"| {rounds} Pods each, ms | p50 | p99 | p50 over none | p99 over none's | p99 of difference | goal |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found:
        goal = f"{GOALS[row['name']]:g}" if row["name"] in GOALS else ""
        figures = " | ".join(
            f"{row[key]:.2f}" for key in ("p50", "p99", "p50_over_none", "p99_over_none", "p99_of_difference")
        )
        lines.append(f"| {row['name']} | {figures} | {goal} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--shape", choices=("v32", "v37"), default="v32")
    parser.add_argument("--policy", metavar="FILE")
    parser.add_argument("--policy-namespace", metavar="NAME", default="bench-policy")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if "PROGRAMS" not in os.environ:
        parser.error("PROGRAMS is not set. fix: set it to a folder with kube and etcd (`make patch` builds them)")
    pod = getattr(shapes, args.shape)()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, contenders(args, Path(folder)) as (api, spaces):
        wait(api, pod, spaces)
        found = rows(measure(api, pod, spaces, args.rounds))
    print(table(found, args.rounds))
    print(f"\n{os.cpu_count()} cores, load average {before:.1f} before, {os.getloadavg()[0]:.1f} after")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
