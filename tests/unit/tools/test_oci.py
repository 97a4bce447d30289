"""Archives that container engines load: right digests, shared layers stored once, deterministic."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from local_cluster.node.oci import Image, write_archive


def _archive(folder: Path, name: str) -> Path:
    layer = folder / "layer"
    if not layer.exists():
        (layer / "bin").mkdir(parents=True)
        (layer / "bin" / "tool").write_text("#!/bin/sh\n")
    scratch = folder / f"scratch-{name}"
    scratch.mkdir()
    target = folder / f"{name}.tar"
    images = [Image(("localhost/a:1", "localhost/a:2"), (layer,)), Image(("localhost/b:1",), (layer,), {"User": "1"})]
    write_archive(target, images, scratch)
    return target


def test_blobs_match_their_digests_and_the_layer_is_stored_once(tmp_path: Path) -> None:
    with tarfile.open(_archive(tmp_path, "one")) as archive:
        blobs = {m.name: archive.extractfile(m).read() for m in archive.getmembers() if m.name.startswith("blobs/")}  # type: ignore[union-attr]
        index = json.loads(archive.extractfile("index.json").read())  # type: ignore[union-attr]
    assert all(hashlib.sha256(data).hexdigest() == name.rsplit("/", 1)[1] for name, data in blobs.items())
    names = [manifest["annotations"]["io.containerd.image.name"] for manifest in index["manifests"]]
    assert names == ["localhost/a:1", "localhost/a:2", "localhost/b:1"]
    layers = {
        layer["digest"]
        for data in blobs.values()
        if data.startswith(b'{"schemaVersion"')
        for layer in json.loads(data)["layers"]
    }
    assert len(layers) == 1


def test_same_input_same_bytes(tmp_path: Path) -> None:
    assert _archive(tmp_path, "one").read_bytes() == _archive(tmp_path, "two").read_bytes()
