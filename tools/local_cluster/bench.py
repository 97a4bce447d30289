"""`make bench` and `make texts`: the verb bench on the demo's Pods, from outside.

usage: VARIANT=<name> OUT=<folder> BUDGET=<seconds> make bench     (at most a quarter of an hour)
       PROMPTS=<number> AT_ONCE=<numbers> OUT=<folder> make texts
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tiered_kv_cache.__main__ import main

from .helm import Helm
from .problem import Problem
from .providers import Provider
from .settings import NAMESPACE, RELEASE, REPO

CONVERSATIONS = REPO / "tools" / "bench" / "conversations.json"
BUDGET_S = 810
"""What was begun may take a minute more; with the start it stays below 15 minutes."""
CONCURRENCY = "1,4,8"
RATES = "0.25,0.5"
"""Requests a second. Two CPU engines on two cores answer 0.37 cold ones of LOAD_TOKENS a second: the first rate is below that, the
second above. More clients at once than 8 only wait longer, and cost more of the budget than there is."""
LOAD_TOKENS = 1000
SIZES = "256,500,1000,1900,2500,3000"
"""Those of the published figures and of the goals. Two CPU engines compute 4,000 tokens in 12 s: with them no size would have the
four repetitions of which an interval can be told."""


def arguments(kubeconfig: Path, environment: Mapping[str, str]) -> list[str]:
    """The verb's command line; VARIANT, OUT, BUDGET and CONVERSATIONS of ``environment`` go into it."""
    variant = environment.get("VARIANT") or "demo"
    out = environment.get("OUT") or f"bench-result/{variant}"
    return [
        "bench", "run", *_release(kubeconfig), "--variant", variant, "--out", out, "--budget", environment.get("BUDGET") or str(BUDGET_S),
        "--sizes", SIZES, "--concurrency", CONCURRENCY, "--rates", RATES, "--load-size", str(LOAD_TOKENS),
        "--conversations", environment.get("CONVERSATIONS") or str(CONVERSATIONS),
    ]  # fmt: skip


def text_arguments(kubeconfig: Path, environment: Mapping[str, str]) -> list[str]:
    """The text check's command line; OUT, PROMPTS and AT_ONCE of ``environment`` go into it."""
    return [
        "bench", "texts", *_release(kubeconfig), "--out", environment.get("OUT") or "bench-result/texts",
        "--prompts", environment.get("PROMPTS") or "200", "--at-once", environment.get("AT_ONCE") or "1",
    ]  # fmt: skip


def _release(kubeconfig: Path) -> list[str]:
    return ["--namespace", NAMESPACE, "--release", RELEASE, "--kubeconfig", str(kubeconfig), "--via", "port-forward"]


def run(where: Provider, make: Callable[[Path, Mapping[str, str]], list[str]]) -> int:
    """Run the verb with the command line of ``make``; its exit code. Raises Problem when there is no demo."""
    if not where.kubeconfig.exists() or not Helm(where.kubeconfig, NAMESPACE, RELEASE).exists():
        raise Problem("no demo in the cluster to measure", "run `make up`, then this again")
    return main(make(where.kubeconfig, os.environ))
