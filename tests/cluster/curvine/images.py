"""Curvine's image, as whoever runs the tests gives it, in the nodes of the local cluster."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

from local_cluster.settings import PLACES


def given_image(given: str) -> tuple[str, Path | None]:
    """What the Pods shall name, and its archive: `given` itself, or for the path of an archive the name that stands in it."""
    archive = Path(given)
    if not archive.is_file():
        return given, None
    # The nodes see this folder only.
    place = PLACES.images / "given" / f"{archive.stat().st_mtime_ns}-{archive.name}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(archive, place)
    return _name(archive), place


def hooks_image(reference: str) -> Path:
    """Archive of the hooks' image, as `make images` left it."""
    name, _, tag = reference.rpartition(":")
    return PLACES.images / f"{name.rpartition('/')[2]}-{tag}.tar"


def _name(archive: Path) -> str:
    """The reference in an image archive, of OCI's or docker's kind."""
    with tarfile.open(archive) as tar:
        for member, find in (("index.json", _of_oci), ("manifest.json", _of_docker)):
            try:
                found = find(json.load(tar.extractfile(member)))  # type: ignore[arg-type]
            except KeyError:
                continue
            if found:
                return found
    raise ValueError(f"{archive} names no image. fix: save it by its name: podman save NAME:TAG -o FILE")


def _of_oci(index: dict[str, list[dict[str, dict[str, str]]]]) -> str:
    notes = index["manifests"][0].get("annotations", {})
    return notes.get("io.containerd.image.name") or notes.get("org.opencontainers.image.ref.name", "")


def _of_docker(manifest: list[dict[str, list[str]]]) -> str:
    return (manifest[0]["RepoTags"] or [""])[0]
