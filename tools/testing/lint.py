"""ruff, mypy, yamllint, shellcheck, helm lint, and generated files that must be up to date."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local_cluster.helm import CHART
from local_cluster.settings import REPO

from .tools import environment


def _files(pattern: str) -> list[str]:
    """Files that git knows and that match a pattern; new ones that it does not ignore count too."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (REPO / name).is_file()]


def commands() -> dict[str, Sequence[str]]:
    """Name -> command line of every check."""
    helm = environment()["HELM"]
    values = sorted(str(path) for path in (REPO / "values").glob("*.yaml"))
    python = [sys.executable, "-m"]
    yaml = [
        name for name in (*_files("*.yaml"), *_files("*.yml")) if "/templates/" not in name and "/golden/" not in name
    ]
    return {
        "ruff check": [*python, "ruff", "check", "."],
        "ruff format": [*python, "ruff", "format", "--check", "."],
        "mypy": [
            *python,
            "mypy",
            "hooks/tiered_kv_cache",
            "tools/local_cluster",
            "tools/testing",
            "tools/package",
            "tools/key_coverage",
            "tests",
        ],
        "yamllint": [*python, "yamllint", "--strict", *yaml],
        "shellcheck": [str(Path(sys.executable).with_name("shellcheck")), *_files("*.sh"), ".ci/run"],
        "values schema": [sys.executable, "tools/schema/generate.py", "--check"],
        **{f"helm lint {Path(v).name}": [helm, "lint", "--strict", "--quiet", "-f", v, str(CHART)] for v in values},
    }


def run() -> bool:
    """Run every check, print the output of those that fail, and a line for each."""
    passed = True
    for name, command in commands().items():
        done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
        print(f"{'ok  ' if not done.returncode else 'FAIL'} {name}", flush=True)
        if done.returncode:
            passed = False
            print((done.stdout + done.stderr).strip()[-4000:], flush=True)
    return passed
