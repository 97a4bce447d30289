"""What the local cluster's machines need of the emulated operator: its file of overrides (emulators/operator/overrides.py)."""

from __future__ import annotations

from typing import Any

from emulators.operator.options import SLEEP

Json = dict[str, Any]

HTTP_PORT = 8180
"""Of the LMCache server, as in the chart's own Pods."""

ROUTER_ARGS = [
    "--host", "0.0.0.0", "--port", "<port>", "--policy", "round_robin", "--service-discovery",
    "--service-discovery-namespace", "<namespace>", "--service-discovery-port", "<workerPort>",
    "--worker-startup-timeout-secs", "600", "--selector", "app=<iec>",
]  # fmt: skip
"""Of vllm-router, which is not the router of AWS's operator."""

_ROUTER: Json = {"args": ROUTER_ARGS, "merge": {"env": None}}


def engines() -> Json:
    """Real vLLM and LMCache on CPUs: the engine moves the blocks, through memory that both containers see."""
    return {
        "worker": {
            "transfer": {
                "lmcache.mp.mp_transfer_mode": "engine_driven",
                "lmcache.mp.heartbeat_interval": 2,
                "lmcache.mp.mq_timeout": 10,
            },
        },
        "server": {
            # A flag that stands twice has its last value.
            "appendArgs": [
                "--supported-transfer-mode", "engine_driven", "--shm-name", "tiered-kv-cache", "--no-l1-use-lazy",
                "--l1-size-gb", "0.5", "--hash-algorithm", "blake3", "--max-workers", "1", "--metrics-sample-rate", "1.0",
                "--http-host", "0.0.0.0", "--http-port", str(HTTP_PORT),
            ],
            "merge": {"resources": {"requests": {"cpu": "50m", "memory": "512Mi"}, "limits": {"cpu": "1", "memory": "1536Mi"}}},
        },
        "router": _ROUTER,
        "pod": {"volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}]},
    }  # fmt: skip


def sleepers(image: str) -> Json:
    """Pods of the operator's shape without an engine, Ready at once.

    Args:
        image: one with Python.
    """
    small = {"requests": {"cpu": "5m", "memory": "16Mi"}, "limits": None}
    no_probes = {"startupProbe": None, "readinessProbe": None, "livenessProbe": None}
    idle = {"image": image, "resources": small}
    return {
        "worker": {"merge": {**idle, **no_probes, "command": SLEEP}},
        # Its command is still one that starts a server, for whoever reads it.
        "server": {"merge": {**idle, "command": [*SLEEP, "lmcache", "server"]}},
        "router": {"merge": {"image": image, "command": SLEEP, "args": None, "env": None}},
        "pod": {"merge": {"terminationGracePeriodSeconds": 1}},
    }
