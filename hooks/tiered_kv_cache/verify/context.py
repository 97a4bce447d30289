"""What all steps of a run share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..cluster import Cluster
from ..deadline import Deadline
from .config import Settings
from .reach import Reach


@dataclass(frozen=True)
class Context:
    """One run against one release. ``say`` prints a line of progress; ``api_key`` is never printed."""

    settings: Settings
    cluster: Cluster
    reach: Reach
    namespace: str
    release: str
    deadline: Deadline
    say: Callable[[str], None]
    api_key: str = field(default="", repr=False)

    def within(self, seconds: float) -> Context:
        """The same with at most so many seconds."""
        return replace(self, deadline=self.deadline.within(seconds))
