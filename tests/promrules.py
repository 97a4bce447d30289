"""One process of tools/promrules: what Prometheus' own rule engine makes of rules and series."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from chart.cases import CASES
from chart.helm import Helm

Json = dict[str, Any]
POD = 'pod="pod-1", namespace="tiered-kv-cache", tiered_kv_cache_io_model="tiny"'
STEP_S = 30
"""Seconds between two samples and between two evaluations, as Prometheus Operator has them by default."""


@dataclass(frozen=True)
class Alert:
    """An alert that is pending or firing at the end; ``text``: all of its annotations, filled in."""

    name: str
    state: str
    labels: dict[str, str]
    text: str


@dataclass(frozen=True)
class Sample:
    labels: dict[str, str]
    value: float


@dataclass(frozen=True)
class Observed:
    """The rules of a release that has all parts, and the jobs by which Prometheus knows its components."""

    spec: Json
    jobs: dict[str, str]

    @classmethod
    def rendered(cls, helm: Helm) -> Observed:
        manifests = helm.run("-f", "-", given=json.dumps(CASES["observed"]))
        (rules,) = manifests.of("PrometheusRule")
        jobs = {}
        for monitor in manifests.of("PodMonitor"):
            about = monitor["metadata"]
            jobs[about["labels"]["app.kubernetes.io/component"]] = f"{about['namespace']}/{about['name']}"
        return cls(rules["spec"], jobs)

    def scraped(self, component: str, values: Mapping[str, str]) -> list[tuple[str, str]]:
        """Series as Prometheus has them of one Pod of a component.

        Args:
            values: metric, with its own labels or without, to its samples.
        """
        target = f'job="{self.jobs[component]}", {POD}'
        found = []
        for name, samples in values.items():
            metric, _, own = name.removesuffix("}").partition("{")
            found.append((f"{metric}{{{', '.join(filter(None, [own, target]))}}}", samples))
        return found


class PromRules:
    """A running program; use it as a context manager. PROMRULES names it; `make chart` builds it."""

    def __init__(self) -> None:
        program = os.environ.get("PROMRULES")
        if not program:
            pytest.fail("PROMRULES is not set. fix: make chart, or set it to tools/promrules built with go build")
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> PromRules:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def ask(
        self, spec: Json, series: Iterable[tuple[str, str]], minutes: float, queries: Iterable[str] = ()
    ) -> tuple[list[Alert], list[list[Sample]]]:
        """Alerts and the queries' results after so many minutes of a PrometheusRule's spec over these series.

        Args:
            series: pairs of series and values in the notation of `promtool test rules`, a sample every STEP_S.

        Raises:
            AssertionError: a rule, series or query that Prometheus does not take, with its own words.
        """
        assert self._process.stdin
        assert self._process.stdout
        question = {
            "rules": spec,
            "series": [{"series": name, "values": values} for name, values in series],
            "stepSeconds": STEP_S,
            "endSeconds": int(minutes * 60),
            "queries": list(queries),
        }
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert not answer.get("error"), answer["error"]
        alerts = [
            Alert(one["name"], one["state"], one["labels"], "\n".join(one["annotations"].values()))
            for one in answer["alerts"]
        ]
        return alerts, [[Sample(**sample) for sample in samples] for samples in answer["queries"]]
