"""The base of all images: python:3.11-slim-bookworm where a registry can be reached, else made from Debian packages.

Either way the libraries that the engine links against are added here, so that the images on top build offline.
"""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from .builders import Builder
from .host import packages
from .node.rootfs import debian_sources
from .problem import Problem
from .progress import phase, say
from .run import run
from .settings import PLACES, REPO

PUBLIC = "docker.io/library/python:3.11-slim-bookworm"
"""What images/base/Containerfile starts from; also the default of ARG BASE in every Containerfile."""

RECIPE = REPO / "images" / "base"
SUITE = "bookworm"
REPOSITORY = "localhost/tiered-kv-cache/base"
VARIABLE = "TKC_IMAGE_BASE"

_PULL_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Base:
    """A base image.

    Args:
        reference: what FROM names.
        key: what of it goes into the tags of the images built on it.
        source: the public image that it is made from; empty when it is made from Debian packages or taken as it is.
    """

    reference: str
    key: str
    source: str = ""


def choose(builder: Builder) -> Base:
    """The base for this machine; the choice is kept, so that tags do not change when a registry comes and goes.

    TKC_IMAGE_BASE names another image (then nothing is tried), or `debian` to make one here.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted and wanted != "debian":
        return Base(wanted, wanted)
    kept = PLACES.cache / "image-base"
    choice = "debian" if wanted else (kept.read_text().strip() if kept.exists() else "")
    if not choice:
        with phase(f"pull {PUBLIC}", f"the base of the images; {VARIABLE} names another"):
            choice = PUBLIC if builder.pull(PUBLIC, _PULL_TIMEOUT_S) else "debian"
        if choice == "debian":
            say("  no registry answers: making the base image from Debian packages")
    if not wanted:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(choice + "\n")
    source = "" if choice == "debian" else choice
    key = _key(source)
    return Base(f"{REPOSITORY}:{'p' if source else 'd'}{key}", key, source)


def ensure(base: Base, builder: Builder) -> None:
    """Have the base in the builder's store.

    Raises:
        Problem: neither a registry nor a Debian mirror delivers it.
    """
    if builder.exists(base.reference):
        return
    if base.source:
        with phase("base image", f"{base.source} and the libraries that the engine links against"):
            builder.build(RECIPE, base.reference, base.source, network=True)
    elif base.reference.startswith(REPOSITORY):
        tar = _root(base.key)
        with phase("base image", "import of the root filesystem"):
            builder.import_root(tar, base.reference, "python3")
    elif not builder.pull(base.reference, _PULL_TIMEOUT_S):
        raise Problem(
            f"cannot pull the base image {base.reference}",
            f"set {VARIABLE} to an image that this machine can pull, or to `debian` to make it from Debian packages",
        )


def _packages() -> list[str]:
    lines = (RECIPE / "packages.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _key(source: str) -> str:
    if source:
        recipe = hashlib.sha256(f"{source} {platform.machine()}\n".encode())
        recipe.update((RECIPE / "Containerfile").read_bytes())
    else:
        recipe = hashlib.sha256(f"{SUITE} {platform.machine()} {' '.join(_packages())}\n".encode())
        recipe.update((RECIPE / "finish.sh").read_bytes())
    return recipe.hexdigest()[:12]


def sources() -> list[str]:
    """Of SUITE: the machine's own Debian mirror when it runs the same release; else mmdebstrap's default mirror."""
    suite, sources = debian_sources()
    return sources if suite == SUITE else []


def _root(key: str) -> Path:
    """The root filesystem as a tar archive, from the cache when it is there."""
    target = PLACES.cache / f"image-base-{key}.tar"
    if target.exists():
        return target
    packages.ensure(packages.ROOTFS, "makes the images' root filesystem")
    wanted = _packages()
    with phase("root filesystem of the images", f"{len(wanted)} packages of Debian {SUITE} and what they need"):
        partial = target.with_suffix(".partial.tar")
        run(
            ["mmdebstrap", "--mode=root", "--variant=essential", f"--include={','.join(wanted)}", "--dpkgopt=force-unsafe-io",
             "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
             "--dpkgopt=path-exclude=/usr/share/locale/*", f"--customize-hook={RECIPE / 'finish.sh'}", SUITE, partial, *sources()],
            log="image-base", fix="check the machine's Debian mirror (`apt-get update`)", timeout_s=1200,
        )  # fmt: skip
        partial.rename(target)
    return target
