"""`make bench`: the verb bench on the demo's Pods, from outside, in at most a quarter of an hour.

usage: VARIANT=<name> OUT=<folder> BUDGET=<seconds> make bench
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tiered_kv_cache.__main__ import main

from .helm import Helm
from .problem import Problem
from .providers import Provider
from .settings import NAMESPACE, RELEASE, REPO

CONVERSATIONS = REPO / "tools" / "bench" / "conversations.json"
BUDGET_S = 780
"""What was begun may take a minute more; with the start it stays below 15 minutes."""
CONCURRENCY = "1,2,4,8,16,32"
RATES = "1,2,4,8"
"""Requests a second: two CPU engines are saturated below the last one, and a run ends at the first such rate."""
LOAD_TOKENS = 1000


def arguments(kubeconfig: Path, environment: Mapping[str, str]) -> list[str]:
    """The verb's command line; VARIANT, OUT, BUDGET and CONVERSATIONS of ``environment`` go into it."""
    variant = environment.get("VARIANT") or "demo"
    out = environment.get("OUT") or f"bench-result/{variant}"
    return [
        "bench", "run", "--namespace", NAMESPACE, "--release", RELEASE, "--kubeconfig", str(kubeconfig),
        "--via", "port-forward", "--variant", variant, "--out", out, "--budget", environment.get("BUDGET") or str(BUDGET_S),
        "--concurrency", CONCURRENCY, "--rates", RATES, "--load-size", str(LOAD_TOKENS),
        "--conversations", environment.get("CONVERSATIONS") or str(CONVERSATIONS),
    ]  # fmt: skip


def bench(where: Provider) -> int:
    """Run it; the verb's exit code. Raises Problem when there is no demo."""
    if not where.kubeconfig.exists() or not Helm(where.kubeconfig, NAMESPACE, RELEASE).exists():
        raise Problem("no demo in the cluster to measure", "run `make up`, then `make bench`")
    return main(arguments(where.kubeconfig, os.environ))
