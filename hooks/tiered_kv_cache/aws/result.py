"""What came out: one step for tiered storage and one for each add-on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..findings import Finding
from ..storage.checks import FAIL, WARN
from .changes import Call, Change

AS_WANTED, WOULD_CHANGE, CHANGED, NOT_TRIED, FAILED = "as wanted", "would change", "changed", "not tried", "FAILED"


@dataclass
class Step:
    """``state``: one of the above; ``shown``: what was seen; ``call``: what was or would be called."""

    name: str
    state: str = AS_WANTED
    shown: str = ""
    changes: list[Change] = field(default_factory=list)
    call: Call | None = None
    findings: list[tuple[str, Finding]] = field(default_factory=list)

    def fail(self, finding: Finding) -> Step:
        """End the step."""
        self.state = FAILED
        self.findings.append((FAIL, finding))
        return self

    def warn(self, finding: Finding) -> None:
        """Worth reading; nothing stops."""
        self.findings.append((WARN, finding))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "step": self.name,
            "state": self.state,
            "shown": self.shown,
            "changes": [change.to_json() for change in self.changes],
            "call": self.call.to_json() if self.call else None,
            "findings": [finding_json(verdict, finding) for verdict, finding in self.findings],
        }


@dataclass
class Result:
    """``who``: the identity; ``findings``: what belongs to no step."""

    apply: bool
    who: str = ""
    steps: list[Step] = field(default_factory=list)
    findings: list[tuple[str, Finding]] = field(default_factory=list)
    seconds: float = 0.0

    def all_findings(self) -> list[tuple[str, Finding]]:
        """Worst first; what several steps say is said once."""
        found: dict[str, tuple[str, Finding]] = {}
        for verdict, finding in [*self.findings, *(each for step in self.steps for each in step.findings)]:
            found.setdefault(str(finding), (verdict, finding))
        return sorted(found.values(), key=lambda each: each[0] != FAIL)

    @property
    def ok(self) -> bool:
        """Whether the release may go on."""
        return all(verdict != FAIL for verdict, _ in self.all_findings())

    def summary(self) -> str:
        """One line."""
        counted = [
            f"{count} {state}"
            for state in (CHANGED, WOULD_CHANGE, AS_WANTED, NOT_TRIED, FAILED)
            if (count := sum(step.state == state for step in self.steps))
        ]
        mode = "" if self.apply else " (dry run: nothing was changed; hooks.aws.apply: true makes the changes)"
        return f"aws: {'passed' if self.ok else 'FAILED'}; {', '.join(counted) or 'nothing to do'}; {self.seconds:.0f} s{mode}"

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "ok": self.ok,
            "apply": self.apply,
            "identity": self.who,
            "seconds": round(self.seconds, 1),
            "steps": [step.to_json() for step in self.steps],
            "findings": [finding_json(verdict, finding) for verdict, finding in self.findings],
        }


def finding_json(verdict: str, finding: Finding) -> dict[str, Any]:
    """Plain JSON."""
    return {"verdict": verdict, "what": finding.what, "fix": finding.fix}
