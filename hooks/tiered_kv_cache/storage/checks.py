"""One row of the result: what was looked at, what came out, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..findings import Finding

PASS, SKIPPED, WARN, FAIL = VERDICTS = ("pass", "skipped", "warn", "FAIL")
"""From good to bad. Only the last fails the release."""

ORDER = (
    "answers",
    "directory",
    "space",
    "names",
    "write",
    "look-up",
    "replace",
    "times",
    "other Pod",
    "read",
    "listing",
    "seen after",
    "replace there",
)
"""Rows of the table."""


@dataclass(frozen=True)
class Check:
    """``shown``: what was measured, for the table. ``finding``: where the verdict is not pass."""

    name: str
    verdict: str
    shown: str
    finding: Finding | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        found = {"check": self.name, "verdict": self.verdict, "shown": self.shown}
        return found | ({"what": self.finding.what, "fix": self.finding.fix} if self.finding else {})

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Check:
        """The reverse; raises KeyError, ValueError. What another Pod wrote is bounded here."""
        name, verdict = str(raw["check"]), str(raw["verdict"])
        if name not in ORDER or verdict not in VERDICTS:
            raise ValueError(f"no check {name[:40]!r} with verdict {verdict[:40]!r}")
        finding = Finding(str(raw["what"])[:600], str(raw["fix"])[:600]) if "what" in raw else None
        return cls(name, verdict, str(raw["shown"])[:60], finding)


def worst(verdicts: list[str]) -> str:
    """The worst of some; pass of none."""
    return max(verdicts, key=VERDICTS.index, default=PASS)
