"""Prometheus metrics of the webhook."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from .review import RESULTS

PREFIX = "tiered_kv_cache_l2_patch"
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            f"{PREFIX}_requests", "Pods asked about, by what became of them", ["result"], registry=self.registry
        )
        for result in RESULTS:
            self._requests.labels(result)
        self._seconds = Histogram(
            f"{PREFIX}_request_seconds", "Seconds from body to answer", buckets=BUCKETS, registry=self.registry
        )
        self.parameters = Gauge(
            f"{PREFIX}_parameters", "Keys of the parameter object; 0 while it is missing", registry=self.registry
        )
        self.certificate = Gauge(
            f"{PREFIX}_certificate_end_timestamp_seconds", "When the certificate in use ends", registry=self.registry
        )

    def request(self, result: str, seconds: float) -> None:
        """Count one."""
        self._requests.labels(result).inc()
        self._seconds.observe(seconds)
