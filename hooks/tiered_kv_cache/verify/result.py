"""What a run found, before it is printed."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..engine import Completion
from ..findings import Finding
from ..metrics import Counters

PASS, FAIL, WARN, SKIPPED = "pass", "fail", "warn", "skipped"
"""Verdicts of a row. warn: something a person should read, though nothing is broken or nothing could be proven."""

OFF = "off"
"""Why a row was skipped whose tier the values switch off."""

COLD, L2, L1, L0, CONTROL = "cold", "l2", "l1", "l0", "control"
TIERS = (COLD, L2, L1, L0, CONTROL)
"""Tiers in the order of the table. control: the same prompt once more with no cache, for what differs by itself."""

EQUAL, NEAR_TIE, WRONG, UNSURE = "equal", "near tie", "wrong", "unsure"
"""What the greedy text of a row is, compared with the cold one."""


@dataclass(frozen=True)
class Hits:
    """Prompt tokens by the tier that gave them; ``either``: from L1 or L2, where nothing tells which."""

    l0: float
    l1: float
    l2: float
    either: float = 0


@dataclass
class Row:
    """One measured request, or one that was not measured and why.

    ``counters``: what moved; None when not measured. ``lmcache``: where LMCache's tokens came from when it does not count
    by tier: l1, l2 or either; empty when it does.
    """

    tier: str
    pod: str
    node: str
    ttft_ms: float | None = None
    answer: Completion | None = None
    counters: Counters | None = None
    note: str = ""
    busy: bool = False
    """Other requests ran on the Pod at the same time: counters are upper bounds of what this request did."""
    lmcache: str = ""
    verdict: str = PASS
    why: str = ""
    """A few words beside the verdict."""
    same: str = ""
    """equal, near tie, wrong or unsure; empty when there was nothing to compare."""
    ratio: float | None = None
    """How many times as fast as without a cache."""

    @property
    def text(self) -> str | None:
        """The generated text."""
        return self.answer.text if self.answer else None

    @property
    def hits(self) -> Hits | None:
        """Tokens by tier; None when not measured."""
        moved = self.counters
        if moved is None:
            return None
        if not self.lmcache:
            return Hits(*moved.served())
        parts = {"l1": 0.0, "l2": 0.0, "either": 0.0} | {self.lmcache: moved.loaded}
        return Hits(moved.l0, **parts)

    def skip(self, why: str, note: str = "") -> Row:
        """Mark as not measured; returns itself."""
        self.verdict, self.why, self.note = SKIPPED, why, note or why
        return self


@dataclass
class ModelResult:
    """All about one model. ``facts``: words for the table's head. ``warnings``: read, but nothing is broken.
    ``skips``: what was not measured, and how it could be.
    """

    name: str
    served_name: str = ""
    facts: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    chunk_size: int = 0
    pods: list[str] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    skips: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: bool = False
    """Nothing could be measured, and nothing is broken: scaled to zero."""

    @property
    def cold(self) -> Row | None:
        """The row of the first, uncached request."""
        return next((r for r in self.rows if r.tier == COLD and r.answer), None)

    @property
    def control(self) -> Row | None:
        """The row of the second uncached request, if it really was uncached."""
        return next((r for r in self.rows if r.tier == CONTROL and r.answer and r.verdict != SKIPPED), None)

    @property
    def ok(self) -> bool:
        """True when nothing is broken."""
        return not self.findings

    def pod_number(self, pod: str) -> int:
        """Number of a Pod in the table, from 1; 0 for one that is not among the model's Pods."""
        return self.pods.index(pod) + 1 if pod in self.pods else 0

    def place(self, row: Row) -> str:
        """How findings name a row: tier and Pod."""
        tier = {COLD: "cold", CONTROL: "control"}.get(row.tier, row.tier.upper())
        return f"{tier} on Pod {row.pod}" if row.pod else tier


@dataclass
class Result:
    """A whole run. ``findings``: those that belong to no model. ``seconds``: how long it took."""

    models: list[ModelResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0

    @property
    def ok(self) -> bool:
        """True when nothing was found anywhere."""
        return not self.findings and all(m.ok for m in self.models)
