"""What a run found, before it is printed."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..findings import Finding
from ..metrics import Counters


@dataclass
class Row:
    """One measured request. ``tier``: cold, l2, l0 or l1. ``counters``: what moved; None when not measured."""

    tier: str
    pod: str
    node: str
    ttft_ms: float | None = None
    text: str | None = None
    counters: Counters | None = None
    note: str = ""
    busy: bool = False
    """Other requests ran on the Pod at the same time: counters are upper bounds of what this request did."""


@dataclass
class ModelResult:
    """All about one model."""

    name: str
    prompt_tokens: int = 0
    pods: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def cold(self) -> Row | None:
        """The row of the first, uncached request."""
        return next((r for r in self.rows if r.tier == "cold" and r.ttft_ms is not None), None)


@dataclass
class Result:
    """A whole run. ``findings``: those that belong to no model."""

    models: list[ModelResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when nothing was found anywhere."""
        return not self.findings and not any(m.findings for m in self.models)
