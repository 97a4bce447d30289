"""Client of one LMCache server's HTTP port (health, metrics, and emptying L1)."""

from __future__ import annotations

from .deadline import Deadline
from .http import Http
from .metrics import Samples


class LMCache:
    """One LMCache server. Methods raise http.Unreachable, http.BadAnswer or DeadlinePassed."""

    def __init__(self, base_url: str, deadline: Deadline) -> None:
        self._http = Http(base_url, deadline)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def health(self, at_most: float = 15.0) -> None:
        """Return when /healthcheck answers 200."""
        self._http.call("GET", "/healthcheck", at_most=at_most)

    def clear_l1(self) -> None:
        """Drop all blocks of L1 that nobody reads or writes just now; L2 keeps its own."""
        self._http.call("POST", "/cache/clear", json={"tier": "l1"})

    def metrics(self) -> Samples:
        """One scrape of /metrics; raises metrics.MetricsError when it is something else."""
        return Samples(self._http.call("GET", "/metrics").text)
