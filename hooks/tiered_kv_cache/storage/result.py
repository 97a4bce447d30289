"""All rows of one check, of both Pods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..findings import Finding
from .checks import FAIL, ORDER, PASS, Check, worst
from .job import Job


@dataclass
class Result:
    """``nodes``: by index; ``mounted``: what is mounted there, for people."""

    job: Job
    checks: dict[tuple[int, str], Check] = field(default_factory=dict)
    nodes: dict[int, str] = field(default_factory=dict)
    mounted: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.nodes[self.job.index] = self.job.node

    def add(self, index: int, check: Check) -> None:
        """Note a row; of two of one name the worse one stays."""
        before = self.checks.get((index, check.name))
        if before is None or worst([before.verdict, check.verdict]) == check.verdict:
            self.checks[index, check.name] = check

    def rows(self) -> list[tuple[str, dict[int, Check], str]]:
        """Name, each Pod's, and the verdict over both."""
        found = []
        for name in ORDER:
            both = {index: self.checks[index, name] for index in (0, 1) if (index, name) in self.checks}
            if both:
                found.append((name, both, worst([check.verdict for check in both.values()])))
        return found

    def findings(self) -> list[tuple[str, Finding]]:
        """Verdict and finding, worst first; what both Pods say is said once."""
        found: dict[str, tuple[str, Finding]] = {}
        for _, both, _ in self.rows():
            for check in both.values():
                if check.finding is not None:
                    found.setdefault(str(check.finding), (check.verdict, check.finding))
        return sorted(found.values(), key=lambda entry: entry[0] != FAIL)

    @property
    def ok(self) -> bool:
        """Whether the release may go on."""
        return FAIL not in self.verdicts()

    def verdicts(self) -> list[str]:
        """Of all rows."""
        return [verdict for _, _, verdict in self.rows()]

    def summary(self) -> str:
        """One line."""
        bad = [name for name, _, verdict in self.rows() if verdict != PASS]
        head = f"FAILED ({', '.join(n for n, _, v in self.rows() if v == FAIL)})" if not self.ok else "passed"
        rest = [name for name, _, verdict in self.rows() if verdict not in (PASS, FAIL)]
        return f"storage-check: {head}{'; read: ' + ', '.join(rest) if bad and rest else ''}; {self.seconds:.0f} s"

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "ok": self.ok,
            "directory": self.job.directory,
            "type": self.job.volume_type,
            "mounted": self.mounted,
            "seconds": round(self.seconds, 1),
            "nodes": {str(index): node for index, node in sorted(self.nodes.items())},
            "checks": [
                check.to_json() | {"pod": index} for _, both, _ in self.rows() for index, check in sorted(both.items())
            ],
        }
