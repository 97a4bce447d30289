"""Every image that the chart can render, for sites that must bring them in: from its values and its table of engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


@dataclass(frozen=True)
class Image:
    """An image, and the key of the values that names it."""

    key: str
    repository: str
    tag: str
    digest: str
    use: str

    @property
    def reference(self) -> str:
        """As the chart renders it: a digest wins over the tag (tkc.image)."""
        return f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"

    @property
    def full(self) -> str:
        """With tag and digest, as far as they are known."""
        return f"{self.repository}:{self.tag}" + (f"@{self.digest}" if self.digest else "")


USES = {
    "router.image": "routers and gateway, platform kubernetes",
    "hooks.image": "hooks, keeper, webhook, init containers",
    "curvine.": "l2.volume.type curvine",
    "curvine.client.csi": "curvine.client.mode csi",
}
"""What needs an image, by the beginning of its key; the longest that fits."""


def _named(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Json]]:
    """Key and content of each map with a repository."""
    if isinstance(node, dict):
        if node.get("repository"):
            yield ".".join(path), node
        for key, value in node.items():
            yield from _named(value, (*path, key))


def _merged(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        return {**base, **{key: _merged(base.get(key), value) for key, value in over.items()}}
    return over


def of_chart(chart: Path, layers: tuple[Path, ...] = ()) -> list[Image]:
    """The images of the chart's values with files of values over them, and of all engines that the chart knows."""
    values = yaml.safe_load((chart / "values.yaml").read_text())
    for layer in layers:
        values = _merged(values, yaml.safe_load(layer.read_text()) or {})
    found = []
    for key, image in _named(values):
        use = max((begin for begin in USES if key.startswith(begin)), key=len, default="")
        found.append(Image(key, *_parts(image), USES.get(use, "engine")))
    for pair in yaml.safe_load((chart / "files" / "pairs.yaml").read_text())["pairs"]:
        use = f"engine, {pair['device']}: vLLM {pair['vllm']}, LMCache {pair['lmcache']}"
        found.append(Image("engine.image", *_parts(pair["image"]), use))
    return sorted(set(found), key=lambda image: (image.full, image.key))


def _parts(image: Json) -> tuple[str, str, str]:
    return image["repository"], str(image.get("tag") or ""), image.get("digest") or ""


def as_text(images: list[Image]) -> str:
    """One reference a line, each once."""
    return "".join(f"{full}\n" for full in sorted({image.full for image in images}))


def as_json(images: list[Image]) -> str:
    """What a program needs to copy them and to write the values that name the copies."""
    rows = [{"image": image.full, "rendered": image.reference, **asdict(image)} for image in images]
    return json.dumps({"images": rows}, indent=2) + "\n"
