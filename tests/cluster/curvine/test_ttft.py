"""TTFT of one prompt by the tier that it comes from, through Curvine and through a plain directory, in one run. Prints; asserts no time."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

from local_cluster.settings import NODE_SHARED
from tiered_kv_cache.metrics import Counters

from ..api import wait_for
from ..drills.conftest import SMOLLM2
from ..engines import CHUNK, Engines, prompt_of
from .conftest import Install, Release

LENGTH = 7 * CHUNK + 108
"""1,900 tokens, as the walkthrough's prompt."""
PROMPTS = 8


def _times(engines: Engines) -> dict[str, list[float]]:
    """Milliseconds to the first token: cold in one Pod, then from each tier in the other one."""
    first, second = engines.pods()
    assert first.spec.node_name != second.spec.node_name
    times: dict[str, list[float]] = {"cold": [], "L2": [], "L1": [], "L0": []}
    engines.fill(first, prompt_of("ttft first", LENGTH))
    engines.fill(second, prompt_of("ttft second", LENGTH))
    for number in range(PROMPTS):
        prompt = prompt_of(f"ttft {number}", LENGTH)
        before = engines.counters(first)
        times["cold"].append(engines.complete(first, prompt))
        wait_for("stored", partial(_stored, engines, before), 60)
        for tier in ("L2", "L1", "L0"):
            before = engines.counters(second)
            times[tier].append(engines.complete(second, prompt))
            seen = engines.counters(second).since(before)
            found = {"L2": seen.l2, "L1": seen.l1, "L0": seen.l0}[tier]
            assert found >= LENGTH // CHUNK * CHUNK, f"prompt {number}: {found} tokens from {tier}"
            if tier == "L2":
                engines.clear_l0(second)
    return times


def _stored(engines: Engines, before: Counters) -> bool:
    return engines.counters(engines.pods()[0]).since(before).stored_chunks >= LENGTH // CHUNK


def test_beside_a_directory(new_pool: Install, release: Release) -> None:
    model: dict[str, Any] = {"models": {"tiny": SMOLLM2}}
    through = {"Curvine": _times(new_pool(**model))}
    release.uninstall()
    directory = {"volume": {"type": "hostPath", "hostPath": {"path": f"{NODE_SHARED}/l2"}}}
    through["hostPath"] = _times(release.apply(l2=directory, **model))
    print(f"\nTTFT of {LENGTH} tokens in ms, median (smallest, largest) of {PROMPTS}, stored by another node's Pod:")
    print("| L2 | cold | L2 | L1 | L0 |\n|---|---|---|---|---|")
    for name, times in through.items():
        cells = [f"{statistics.median(t):.0f} ({min(t):.0f}, {max(t):.0f})" for t in times.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")
    ratio = statistics.median(through["Curvine"]["L2"]) / statistics.median(through["hostPath"]["L2"])
    print(f"L2 through Curvine takes {ratio:.2f} times what it takes through hostPath")
