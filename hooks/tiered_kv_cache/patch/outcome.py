"""What the patch makes of a Pod."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

PREFIX = "tiered-kv-cache L2 patch: "


class Refused(Exception):
    """The Pod may not be created. Its text is for people: container, what was seen, and the fix."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{PREFIX}{what}. Fix: {fix}")


@dataclass(frozen=True)
class Outcome:
    """A Pod that may be created.

    Args:
        pod: the patched one; the very object that was given if the patch has nothing to do with it.
        warnings: for whoever creates it.
    """

    pod: Json
    warnings: list[str] = field(default_factory=list)
