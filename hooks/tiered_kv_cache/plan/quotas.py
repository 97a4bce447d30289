"""What lines of business and models may hold on the L2 volume, as the keeper is told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from .. import names
from ..cluster import JsonObject
from ..keeper.units import size
from .manifests import label

COMPONENT_KEEPER = "keeper"


@dataclass(frozen=True)
class Quota:
    """Bytes of a line of business; ``models``: bytes of those that have a quota of their own. None: it is no size."""

    line: str
    bytes: int | None
    models: dict[str, int | None] = field(default_factory=dict)


def quotas(objects: Iterable[JsonObject]) -> list[Quota]:
    """All of the release's keeper; none where it has no keeper."""
    found = []
    for each in objects:
        if each["kind"] != "ConfigMap" or label(each, names.LABEL_COMPONENT) != COMPONENT_KEEPER:
            continue
        lines = json.loads(each["data"]["config.json"])["linesOfBusiness"]
        for line, of in sorted(lines.items()):
            own = {model: size(its.get("quota")) for model, its in sorted((of.get("models") or {}).items())}
            found.append(Quota(line, size(of.get("quota")), own))
    return found
