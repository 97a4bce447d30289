"""Client of one LMCache server's HTTP port (health and metrics)."""

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

    def metrics(self) -> Samples:
        """One scrape of /metrics; raises metrics.MetricsError when it is something else."""
        return Samples(self._http.call("GET", "/metrics").text)
