"""Write container images without a daemon: an OCI archive that podman, docker and containerd can load.

Layers are tar files that exist already or folders; equal layers are stored once; nothing is compressed, since the
archive is read on this machine within seconds.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Image:
    """One image of an archive.

    Args:
        names: all its references, with registry and tag.
        layers: lowest first; a `.tar` file or a folder.
        config: extra keys of the image configuration (Entrypoint, Env, StopSignal, User …).
    """

    names: tuple[str, ...]
    layers: tuple[Path, ...]
    config: dict[str, object] = field(default_factory=dict)


def tar_folder(folder: Path, target: Path) -> None:
    """Pack a folder: sorted, owned by root, times of the files kept (Python checks compiled files against them)."""

    def as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder), recursive=False, filter=as_root)


def write_archive(target: Path, images: Iterable[Image], scratch: Path) -> None:
    """Write `images` into one OCI archive at `target`; `scratch` holds layers packed on the way."""
    blobs: dict[str, Path | bytes] = {}
    layers: dict[Path, tuple[str, int]] = {}
    manifests: list[dict[str, object]] = []
    for image in images:
        for layer in image.layers:
            if layer not in layers:
                packed = layer if layer.is_file() else scratch / f"layer-{len(layers)}.tar"
                if layer.is_dir():
                    tar_folder(layer, packed)
                with packed.open("rb") as data:
                    digest = hashlib.file_digest(data, "sha256").hexdigest()
                blobs[digest] = packed
                layers[layer] = (f"sha256:{digest}", packed.stat().st_size)
        manifests += _manifests(image, [layers[layer] for layer in image.layers], blobs)
    with tarfile.open(target, "w") as archive:
        _add(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())
        for digest, content in blobs.items():
            _add(archive, f"blobs/sha256/{digest}", content)


def _manifests(image: Image, layers: list[tuple[str, int]], blobs: dict[str, Path | bytes]) -> list[dict[str, object]]:
    def blob(value: dict[str, object]) -> tuple[str, int]:
        data = json.dumps(value).encode()
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return f"sha256:{digest}", len(data)

    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    config_digest, config_size = blob({
        "architecture": "amd64", "os": "linux", "created": "1970-01-01T00:00:00Z",
        "config": {"Env": [path], **image.config},
        "rootfs": {"type": "layers", "diff_ids": [digest for digest, _ in layers]},
    })  # fmt: skip
    media = "application/vnd.oci.image"
    digest, size = blob({
        "schemaVersion": 2, "mediaType": f"{media}.manifest.v1+json",
        "config": {"mediaType": f"{media}.config.v1+json", "digest": config_digest, "size": config_size},
        "layers": [{"mediaType": f"{media}.layer.v1.tar", "digest": digest, "size": size} for digest, size in layers],
    })  # fmt: skip
    return [
        {"mediaType": f"{media}.manifest.v1+json", "digest": digest, "size": size,
         "platform": {"architecture": "amd64", "os": "linux"},
         "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}}
        for name in image.names
    ]  # fmt: skip


def _add(archive: tarfile.TarFile, name: str, content: Path | bytes) -> None:
    entry = tarfile.TarInfo(name)
    if isinstance(content, bytes):
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    else:
        entry.size = content.stat().st_size
        with content.open("rb") as data:
            archive.addfile(entry, data)
