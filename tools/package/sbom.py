"""Bills of materials in CycloneDX 1.6: the Python packages of each image, by its lock, and what the chart is made of.

An image's system packages are those of its base (images/README.md), which are not locked; ask a scanner for them.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from .archive import EPOCH
from .images import Image

Json = dict[str, Any]
LOCKS = "images/*/requirements.lock"
_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^ ;\\]+)(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def packages(lock: str) -> Iterator[tuple[str, str, list[str]]]:
    """Name, version and sha256 digests of every package of a lock that uv wrote."""
    for name, version, rest in _PACKAGE.findall(lock):
        yield name, version, sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", rest))


def _hashes(digests: list[str]) -> list[HashType]:
    # One wheel or source archive each: which one is installed depends on the machine.
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in digests]


def _python(lock: str) -> list[Component]:
    return [
        Component(
            name=name,
            version=version,
            type=ComponentType.LIBRARY,
            purl=PackageURL("pypi", name=name.lower().replace("_", "-"), version=version),
            bom_ref=f"{name}=={version}",
            hashes=_hashes(digests),
        )
        for name, version, digests in packages(lock)
    ]


def _container(image: Image) -> Component:
    digest = image.digest.removeprefix("sha256:")
    purl = PackageURL(
        "oci",
        name=image.repository.rsplit("/", 1)[-1],
        version=image.digest or None,
        qualifiers={"repository_url": image.repository, "tag": image.tag},
    )
    return Component(
        name=image.repository,
        version=image.tag,
        type=ComponentType.CONTAINER,
        purl=purl,
        bom_ref=image.full,
        hashes=_hashes([digest] if digest else []),
    )


def _bill(about: Component, parts: list[Component]) -> Json:
    """The document; its serial number is a digest of what it says, so that the same parts give the same bytes."""
    bom = Bom(components=parts)
    bom.metadata.component = about
    bom.metadata.timestamp = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or EPOCH), UTC)
    said = "\n".join(sorted(str(part.bom_ref) for part in parts))
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f"{about.bom_ref}\n{said}")
    bom.register_dependency(about, parts)
    document: Json = json.loads(JsonV1Dot6(bom).output_as_string())
    return document


def bills(repo: Path, chart: Path, images: list[Image]) -> Iterator[tuple[str, Json]]:
    """Name and document of each bill: one for each image of this repository, one for the chart."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    name, version, own = about["name"], about["version"], LicenseExpression("Apache-2.0")
    for lock in sorted(repo.glob(LOCKS)):
        image = lock.parent.name
        root = Component(
            name=f"{name}/{image}",
            version=about["appVersion"],
            type=ComponentType.CONTAINER,
            bom_ref=image,
            licenses=[own],
        )
        extra = sorted(lock.parent.glob("*/requirements.lock"))
        parts = {str(part.bom_ref): part for each in (lock, *extra) for part in _python(each.read_text())}
        yield image, _bill(root, list(parts.values()))
    root = Component(
        name=name, version=version, type=ComponentType.APPLICATION, bom_ref=f"{name}-{version}", licenses=[own]
    )
    charts = [
        Component(
            name=each["name"], version=each["version"], type=ComponentType.LIBRARY, bom_ref=f"chart {each['name']}"
        )
        for each in about["dependencies"]
    ]
    containers = {image.full: _container(image) for image in images}
    yield name, _bill(root, [*charts, *containers.values()])
