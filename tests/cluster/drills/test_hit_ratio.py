"""Case C32 on a real vLLM and LMCache, judged by Prometheus' own rule engine: 40 requests, of which 20 could have hit and 10 did.

The Pod's counters before and after become series of 20 minutes, since a drill cannot wait for an alert's ten.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kubernetes import client
from prometheus_client.parser import text_string_to_metric_families

from chart.helm import Helm as Renderer
from local_cluster.settings import PLACES
from promrules import STEP_S, Observed, PromRules

from ..engines import CHUNK, Engines, prompt_of
from .conftest import Install

EACH = 10
LENGTH = 2 * CHUNK + 1
"""All but the last token can be cached; that one vLLM always computes."""
MINUTES = 20
CAUSES = ("served:ratio", "short_requests:", "bypassed_tokens:", "l2_load_failed_chunks:", "never_looked_up_requests:")


def _files() -> set[Path]:
    return set((PLACES.state / "shared" / "l2" / "v1" / "drill").glob("*/*/objects/*/*/*.kv"))


def _empty(engines: Engines, pod: client.V1Pod) -> None:
    engines.clear_l0(pod)
    engines.clear_l1(pod, force=True)


def hit(engines: Engines, pod: client.V1Pod, label: str) -> float:
    """Stored before, and asked again."""
    return engines.hits(pod, prompt_of(label, LENGTH))[1].l2


def bypass(engines: Engines, pod: client.V1Pod, label: str) -> float:
    """Prompt log-probabilities need every token computed: vLLM reads no cache for them."""
    return engines.hits(pod, prompt_of(label, LENGTH), prompt_logprobs=1)[1].loaded


def short(engines: Engines, pod: client.V1Pod, label: str) -> float:
    return engines.hits(pod, prompt_of(label, CHUNK - 56))[1].loaded


KINDS: dict[str, Callable[[Engines, client.V1Pod, str], float]] = {
    "hit": hit,
    "bypass": bypass,
    "damaged": hit,
    "short": short,
}


def _damage(paths: set[Path]) -> None:
    """One bit in the middle of each: lookups find them, loads must not take them."""
    for path in paths:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


def _counters(engines: Engines, pod: client.V1Pod) -> dict[str, float]:
    """Every counter of the Pod, by name and labels as Prometheus writes them."""
    found = {}
    for port in (8000, 8180):
        for family in text_string_to_metric_families(engines.api.pod_text(pod, port, "/metrics")):
            for sample in family.samples:
                if sample.name.endswith("_total"):
                    labels = ", ".join(f"{key}={value!r}" for key, value in sample.labels.items())
                    found[f"{sample.name}{{{labels}}}"] = float(sample.value)
    return found


def test_the_ratio_is_the_truth(install: Install) -> None:
    engines = install(replicas=1)
    (pod,) = engines.pods()
    damaged: set[Path] = set()
    for kind in KINDS:
        before = _files()
        # One more of each, so that every counter is there when the measurement begins: a counter's first value is no increase.
        for number in range(EACH + 1):
            if kind != "short":
                engines.fill(pod, prompt_of(f"{kind}{number}", LENGTH))
        if kind == "damaged":
            damaged = _files() - before
    assert len(damaged) == 2 * (EACH + 1)
    _damage(damaged)
    _empty(engines, pod)
    for kind, ask in KINDS.items():
        ask(engines, pod, f"{kind}{EACH}")
    _empty(engines, pod)
    before_all = _counters(engines, pod)
    for kind, ask in KINDS.items():
        for number in range(EACH):
            served = ask(engines, pod, f"{kind}{number}")
            assert served == (2 * CHUNK if kind == "hit" else 0), f"{kind}: {served} tokens"
    after = _counters(engines, pod)

    observed = Observed.rendered(Renderer(os.environ["HELM"]))
    steps = MINUTES * 60 // STEP_S
    series = {}
    for name, value in after.items():
        begin = before_all.get(name, 0)
        series[name] = f"{begin:f}+{(value - begin) / steps:f}x{steps}"
    recorded = [rule["record"] for group in observed.spec["groups"] for rule in group["rules"] if "record" in rule]
    chosen = [next(name for name in recorded if cause in name) for cause in CAUSES]
    with PromRules() as rules:
        alerts, results = rules.ask(observed.spec, observed.scraped("engine", series), MINUTES, chosen)
    values = {
        re.sub(r"^.*?:|:rate5m$", "", name): samples[0].value for name, samples in zip(chosen, results, strict=True)
    }
    ratio, *rates = values.values()
    found = [round(rate * MINUTES * 60, 1) for rate in rates]
    print(
        f"ratio {ratio:.4f}; in all: " + ", ".join(f"{k} {v:g}" for k, v in zip(list(values)[1:], found, strict=True))
    )
    assert ratio == pytest.approx(0.5, abs=0.01)
    assert found == pytest.approx([EACH, EACH * LENGTH, EACH * 2, 0], abs=1)
    firing = {alert.name for alert in alerts if alert.state == "firing"}
    # Half of what was found could not be loaded; the keeper and the pool are not part of these series.
    assert "TieredKvCacheL2FoundNotServed" in firing
    assert "TieredKvCacheFoundNotLoaded" not in firing
