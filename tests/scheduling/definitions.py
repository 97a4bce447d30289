"""Other projects' own definitions of their kinds, from the Go modules of their releases; nothing of them is kept here."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from chart.helm import LOADER, Json
from local_cluster.host import gotools


@dataclass(frozen=True)
class Module:
    """A Go module with its version, its checksum as in a go.sum, and the folder of the definitions in it."""

    path: str
    checksum: str
    folder: str


KEDA = Module(
    "github.com/kedacore/keda/v2@v2.21.0", "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=", "config/crd/bases"
)
PROMETHEUS_OPERATOR = Module(
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
    "example/prometheus-operator-crd",
)


def definition(module: Module, name: str, folder: Path) -> Json:
    """A CustomResourceDefinition.

    Args:
        module: whose it is.
        name: of its file, without the ending.
        folder: a working directory outside any Go module.

    Raises:
        subprocess.CalledProcessError: the Go module proxy does not answer.
    """
    command = [gotools.toolchain(), "mod", "download", "-json", module.path]
    found = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)
    assert found["Sum"] == module.checksum, found["Sum"]
    crd = yaml.load((Path(found["Dir"]) / module.folder / f"{name}.yaml").read_text(), Loader=LOADER)
    assert isinstance(crd, dict)
    return crd
