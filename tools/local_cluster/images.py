"""The container images: hooks, router and engine-cpu, each from its Containerfile in images/.

An image's tag is a hash over all that goes into it, so an archive that is in the cache is never built again. Builds have
no network: base image and wheels are there before they start.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import base_image, wheelhouse
from .base_image import Base
from .builders import Builder, builder_for
from .host.engine import Engine
from .progress import phase
from .settings import PLACES, REPO

FOLDER = REPO / "images"
NAMES = ("hooks", "router", "engine-cpu")
REPOSITORY = "localhost/tiered-kv-cache"

_PACKAGES = {"hooks": REPO / "hooks" / "tiered_kv_cache"}
"""Python sources that are copied into an image."""

_NOT_IN_BUILD = {"requirements.in", "models", "__pycache__"}
"""In an image's folder, but not in the image."""

_ARCHIVES_KEPT = 2
"""Archives kept of each image: two clones that take turns then do not build again each time."""


@dataclass(frozen=True)
class ImageRef:
    """An image that is built.

    Args:
        name: full reference with the tag.
        tag: the tag alone; begins with a letter, so that no YAML reader takes it for a number.
        archive: docker archive of it, not compressed.
    """

    name: str
    tag: str
    archive: Path


def build_all(engine: Engine) -> dict[str, ImageRef]:
    """All images, by short name; builds what the cache lacks.

    Raises:
        Problem: no base image, a package that pip cannot get, or a build that fails.
    """
    builder = builder_for(os.environ.get("TKC_BUILDER", engine.name), engine.env)
    base = base_image.choose(builder)
    references = {name: _reference(name, base) for name in NAMES}
    missing = [name for name, reference in references.items() if not reference.archive.exists()]
    # One thread downloads, the largest image first; this one makes the base and builds what is there.
    with ThreadPoolExecutor(1) as downloads:
        contexts = {name: downloads.submit(_context, name, engine.env) for name in reversed(missing)}
        if missing:
            base_image.ensure(base, builder)
        for name in reversed(missing):
            _build(references[name], name, builder, base, contexts[name].result())
    for reference in references.values():
        reference.archive.touch()
    return references


def _reference(name: str, base: Base) -> ImageRef:
    tag = f"h{content_hash(name, base)}"
    return ImageRef(f"{REPOSITORY}/{name}:{tag}", tag, PLACES.images / f"{name}-{tag}.tar")


def _build(reference: ImageRef, name: str, builder: Builder, base: Base, context: Path) -> None:
    with phase(f"build image {name}", f"on {base.reference}, offline"):
        builder.build(context, reference.name, base.reference)
    PLACES.images.mkdir(parents=True, exist_ok=True)
    partial = reference.archive.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    with phase(f"save image {name}"):
        builder.save(reference.name, partial)
    partial.rename(reference.archive)
    shutil.rmtree(context)
    _forget_old(name, builder)


def ensure_loaded(reference: ImageRef, builder: Builder) -> None:
    """Have the image in the builder's store, for running it on this machine."""
    if not builder.exists(reference.name):
        with phase(f"load {reference.archive.name}"):
            builder.load(reference.archive)


def content_hash(name: str, base: Base) -> str:
    """12 hex digits over the files that the image is made from, their executable bits, and its base."""
    digest = hashlib.sha256(f"{base.key} {wheelhouse.TORCH if name == 'engine-cpu' else ''}\n".encode())
    for place, path in sorted(_inputs(name)):
        digest.update(f"{place} {os.access(path, os.X_OK)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _inputs(name: str) -> Iterator[tuple[str, Path]]:
    """Place in the build context -> file, of all but the wheels (the lock pins those)."""
    roots = [("", FOLDER / name), ("common", FOLDER / "common")]
    if name in _PACKAGES:
        roots.append((f"package/{_PACKAGES[name].name}", _PACKAGES[name]))
    for prefix, root in roots:
        for path in root.rglob("*"):
            inside = path.relative_to(root)
            if path.is_file() and not _NOT_IN_BUILD.intersection(inside.parts):
                yield str(Path(prefix) / inside), path


def _context(name: str, env: dict[str, str]) -> Path:
    """A folder with all that a build reads; wheels are hard links to the cache where the file system allows it."""
    context = PLACES.cache / "build" / name
    shutil.rmtree(context, ignore_errors=True)
    for place, path in _inputs(name):
        (context / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, context / place)
        (context / place).chmod(0o755 if os.access(path, os.X_OK) else 0o644)
    wheels = PLACES.cache / "wheels"
    sources = {"wheels": [wheelhouse.fill(FOLDER / folder / lock, wheels, env) for folder, lock in _locks(name)]}
    if name == "hooks":
        sources["wheels-engines"] = [
            wheelhouse.for_engines(FOLDER / name / "engine-code/requirements.lock", wheels, env)
        ]
    if name == "engine-cpu":
        sources["wheels-unlocked"] = [wheelhouse.torch(wheels, env)]
    for place, folders in sources.items():
        (context / place).mkdir()
        for wheel in (wheel for folder in folders for wheel in folder.iterdir()):
            _link(wheel, context / place / wheel.name)
    # Whatever the umask of this machine: the last steps of a build run as the image's user and read the context.
    for folder in (context, *(path for path in context.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    return context


def _locks(name: str) -> list[tuple[str, str]]:
    return [(name, "requirements.lock"), ("common", "uv.lock")]


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


def _forget_old(name: str, builder: Builder) -> None:
    archives = sorted(PLACES.images.glob(f"{name}-h*.tar"), key=lambda path: path.stat().st_mtime, reverse=True)
    for archive in archives[_ARCHIVES_KEPT:]:
        archive.unlink()
        builder.remove(f"{REPOSITORY}/{name}:{archive.stem.removeprefix(f'{name}-')}")
