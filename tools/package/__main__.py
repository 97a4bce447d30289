"""Write dist/: the chart's archive, the list of images, bills of materials, and SHA256SUMS.

The same input gives the same bytes. Times in archives are SOURCE_DATE_EPOCH, without it the first of January 1980. With --key the archive
has its provenance file, which `helm verify` and `helm install --verify` read.

Exit code 0: written; 1: helm or gpg failed, with their own words.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from local_cluster.helm import CHART
from local_cluster.problem import Problem
from local_cluster.settings import REPO
from testing.tools import environment

from . import archive, images, sbom

LISTS = {"images.txt": images.as_text, "images.json": images.as_json}


def write(folder: Path, helm: str, key: str = "", layers: tuple[Path, ...] = ()) -> list[Path]:
    """Make the folder anew; its files.

    Args:
        helm: a helm binary.
        key: name of a secret key of gpg's, which signs the archive; empty: nobody signs it.
        layers: values files whose images are listed instead of the chart's own.

    Raises:
        Problem: gpg has no such key; nothing is touched then.
        subprocess.CalledProcessError: helm or gpg failed.
    """
    if key:
        archive.check_key(key)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chart = archive.pack(CHART, folder, helm)
    if key:
        archive.sign(CHART, chart, key)
    listed = images.of_chart(CHART, layers)
    for name, form in LISTS.items():
        (folder / name).write_text(form(listed))
    for name, bill in sbom.bills(REPO, CHART, listed):
        (folder / f"{name}.cdx.json").write_text(json.dumps(bill, indent=2) + "\n")
    made = sorted(folder.iterdir())
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made]
    (folder / "SHA256SUMS").write_text("".join(lines))
    return [*made, folder / "SHA256SUMS"]


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="package", description=__doc__)
    parser.add_argument("--into", type=Path, default=REPO / "dist", help="folder that is made anew")
    parser.add_argument("--key", default="", help="name of the gpg key that signs the archive")
    parser.add_argument(
        "-f", "--values", type=Path, action="append", default=[], help="values file whose images are listed"
    )
    options = parser.parse_args(argv)
    try:
        made = write(options.into, environment()["HELM"], options.key, tuple(options.values))
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"error: {' '.join(error.cmd)}\n{error.stderr}", file=sys.stderr)
        return 1
    for file in made:
        print(f"{file.stat().st_size:9}  {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
