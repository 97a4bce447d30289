"""One process of tools/go/render: `helm template` and an API server's judgement, thousands of times."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chart.helm import CHART

Json = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """What `helm template` is asked."""

    values: Json
    name: str = "demo"
    namespace: str = "tiered-kv-cache"
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()

    def line(self) -> str:
        return json.dumps(
            {
                "name": self.name,
                "namespace": self.namespace,
                "values": self.values,
                "kubeVersion": self.kube_version,
                "apiVersions": self.api_versions,
            },
            # Go's YAML reads no pairs of escapes for one character.
            ensure_ascii=False,
        )


@dataclass(frozen=True)
class Answer:
    """Either manifests, objects and what an API server has against them, or the error that helm ends with."""

    manifests: str = ""
    objects: list[Json] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str = ""


class Renderer:
    """A running program; use it as a context manager."""

    def __init__(self, program: str, chart: Path, *options: str) -> None:
        self._process = subprocess.Popen(
            [program, *options, str(chart)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def ask(self, question: Question) -> Answer:
        """Render; raises BrokenPipeError or EOFError when the program has ended, with its own words on standard error."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(question.line() + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise EOFError(f"render ended with code {self._process.wait()}")
        return Answer(**json.loads(line))


def of_the_chart(*options: str) -> Renderer:
    """The program that RENDER names, on this chart; without one the test fails."""
    program = os.environ.get("RENDER")
    if not program:
        pytest.fail(
            "RENDER is not set. fix: make chart or make property, or set it to tools/go/render built with go build"
        )
    return Renderer(program, CHART, *options)
