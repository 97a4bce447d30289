"""KEDA's own definition of ScaledObject, from the Go module of its release; nothing of it is kept here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import yaml

from chart.helm import LOADER, Json
from local_cluster.host import gotools

MODULE = "github.com/kedacore/keda/v2@v2.21.0"
SUM = "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps="
"""Checksum of the module as in a go.sum."""


def definition(folder: Path) -> Json:
    """The CustomResourceDefinition.

    Args:
        folder: a working directory outside any Go module.

    Raises:
        subprocess.CalledProcessError: the Go module proxy does not answer.
    """
    command = [gotools.toolchain(), "mod", "download", "-json", MODULE]
    found = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)
    assert found["Sum"] == SUM, found["Sum"]
    path = Path(found["Dir"]) / "config" / "crd" / "bases" / "keda.sh_scaledobjects.yaml"
    crd = yaml.load(path.read_text(), Loader=LOADER)
    assert isinstance(crd, dict)
    return crd
