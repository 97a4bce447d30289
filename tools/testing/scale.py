"""How long helm takes for many models: `make render-bench`, and with PEER=<chart folder> another project's chart in the same run.

The goal is 2 s for 200 models in 20 lines of business. It is printed, not asserted: seconds depend on the machine.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from local_cluster.helm import CHART

Json = dict[str, Any]
LINES_OF_BUSINESS, MODELS, ROUNDS = 20, 10, 3
GOAL_SECONDS = 2.0


def values(name: str, models: int) -> Json:
    """A line of business with so many models; each has settings of its own, as real ones do."""
    return {
        "lineOfBusiness": name,
        "l2": {"volume": {"claimName": "kv-cache"}},
        "models": {
            f"model-{number:03d}": {
                "replicas": 2 + number % 3,
                "source": {"claim": {"name": "models", "subPath": f"models/{number:03d}"}},
                "engine": {"maxModelLen": 8192, "args": ["--seed", number], "env": {"VLLM_LOGGING_LEVEL": "INFO"}},
                "cache": {"l1": {"memory": "2Gi"}},
                "resources": {
                    "engine": {"requests": {"cpu": 2, "memory": "8Gi"}, "limits": {"cpu": 8, "memory": "16Gi"}},
                    "lmcache": {"limits": {"memory": "4Gi"}},
                },
                "podAnnotations": {"example.com/owner": name},
            }
            for number in range(models)
        },
    }


def files(folder: Path) -> tuple[list[Path], Path]:
    """One values file for each line of business, and one with all models in a single release."""
    paths = [folder / f"lob-{number:02d}.yaml" for number in range(LINES_OF_BUSINESS)]
    for path in paths:
        path.write_text(yaml.safe_dump(values(path.stem, MODELS)))
    together = folder / "together.yaml"
    together.write_text(yaml.safe_dump(values("all", LINES_OF_BUSINESS * MODELS)))
    return paths, together


@dataclass(frozen=True)
class Row:
    """A measured command: the fastest round's seconds, with what the processors of all its processes spent."""

    name: str
    wall: float
    cpu: float
    documents: int

    def __str__(self) -> str:
        return f"{self.wall:8.2f} s {self.cpu:8.2f} s {self.documents:8}   {self.name}"


def _measure(name: str, work: Callable[[], int]) -> Row:
    rows = []
    for _ in range(ROUNDS):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        documents = work()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        rows.append(Row(name, time.monotonic() - begin, cpu, documents))
    return min(rows, key=lambda row: row.wall)


def _template(helm: str, chart: Path, *values_files: Path) -> str:
    """The manifests of one release for each values file."""
    texts = []
    for file in values_files:
        command = [helm, "template", file.stem, str(chart), "-n", "bench", "-f", str(file)]
        texts.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return "".join(texts)


def _documents(text: str) -> int:
    return sum(line.startswith("kind:") for line in text.splitlines())


def _in_one_process(render: str, values_files: list[Path]) -> int:
    """All releases by tools/go/render, which also judges each object as an API server would."""
    questions = "".join(
        json.dumps({"name": file.stem, "namespace": "bench", "values": yaml.safe_load(file.read_text())}) + "\n"
        for file in values_files
    )
    done = subprocess.run([render, str(CHART)], input=questions, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [text for answer in answers for text in (answer.get("error"), *answer.get("faults", ())) if text]
    if wrong:
        raise SystemExit("\n".join(wrong))
    return sum(len(answer["objects"]) for answer in answers)


def _peer_values(models: int) -> Json:
    """The same in the terms of vllm-project/production-stack's chart."""
    one: Json = {
        "repository": "lmcache/vllm-openai",
        "tag": "v0.3.9",
        "modelURL": "org/model",
        "replicaCount": 2,
        "requestCPU": 2,
        "requestMemory": "8Gi",
        "requestGPU": 1,
        "limitCPU": 8,
        "limitMemory": "16Gi",
        "vllmConfig": {"enablePrefixCaching": True, "maxModelLen": 8192, "extraArgs": ["--seed", "1"]},
        "lmcacheConfig": {"enabled": True, "cpuOffloadingBufferSize": "2"},
        "env": [{"name": "VLLM_LOGGING_LEVEL", "value": "INFO"}],
    }
    return {"servingEngineSpec": {"modelSpec": [{**one, "name": f"model-{number:03d}"} for number in range(models)]}}


def _peer(folder: Path, source: Path) -> tuple[Path, Path]:
    """A copy of that chart without its optional dependencies, which would have to be downloaded, and its values file."""
    chart = folder / "peer"
    shutil.copytree(source, chart)
    (chart / "Chart.lock").unlink(missing_ok=True)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    about.pop("dependencies", None)
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    file = folder / "peer.yaml"
    file.write_text(yaml.safe_dump(_peer_values(LINES_OF_BUSINESS * MODELS)))
    return chart, file


def run(environment: dict[str, str]) -> int:
    """Measure, and print one row for each way."""
    helm, render = environment["HELM"], environment["RENDER"]
    models = LINES_OF_BUSINESS * MODELS
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        each, together = files(folder)
        work: dict[str, Callable[[], int]] = {
            f"{LINES_OF_BUSINESS} releases x {MODELS} models, one helm each": lambda: _documents(
                _template(helm, CHART, *each)
            ),
            f"{LINES_OF_BUSINESS} releases x {MODELS} models, one process, objects judged": lambda: _in_one_process(
                render, each
            ),
            f"1 release x {models} models, helm": lambda: _documents(_template(helm, CHART, together)),
            f"1 release x {models} models, objects judged": lambda: _in_one_process(render, [together]),
        }
        if source := os.environ.get("PEER"):
            chart, file = _peer(folder, Path(source))
            work[f"PEER: 1 release x {models} models, helm"] = lambda: _documents(_template(helm, chart, file))
        print(
            f"{'wall':>10} {'processor':>10} {'objects':>8}   best of {ROUNDS}; goal {GOAL_SECONDS:g} s for {models} models"
        )
        for name, one in work.items():
            print(_measure(name, one), flush=True)
    return 0
