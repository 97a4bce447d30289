"""Curvine's image, as whoever runs the tests gives it, in the nodes of the local cluster."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

from local_cluster.providers.kind import Kind
from local_cluster.settings import PLACES


def reference_in_nodes(given: str) -> str:
    """What the Pods shall name: `given` itself, or for the path of an archive the name that stands in it, loaded into the nodes."""
    archive = Path(given)
    if not archive.is_file():
        return given
    name = _name(archive)
    # The nodes see this folder only.
    place = PLACES.images / "given" / f"{archive.stat().st_mtime_ns}-{archive.name}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(archive, place)
    Kind().load({name: place})
    return name


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
