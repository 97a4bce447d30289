"""Versions as Kubernetes, images and CRDs write them."""

from __future__ import annotations

import re

Version = tuple[int, ...]


def version_of(text: str) -> Version:
    """Its numbers: (1, 18, 3) of "v1.18.3-eksbuild.1"; nothing if it is no version."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def tag_of(image: str) -> str:
    """The tag of an image; empty where only a digest is given."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]
