"""The containers of a worker's Pod."""

from __future__ import annotations

import copy
import json
import shlex

from .env import CONFIG_FILE, caches, node_ip, worker_env
from .names import Names
from .options import RELAY, SLEEP, Json, Mode, Options

PROXY, COLLECTOR, SERVER = "sidecar-reverse-proxy", "otel-collector", "lmcache-server"
"""The first two are observed, the third is inferred."""

PROXY_PORT = 8081
SERVER_PORT = 5555
"""LMCache's default (inferred)."""

_SMALL = {"requests": {"cpu": "10m", "memory": "32Mi"}}


def worker(iec: Json, options: Options, mode: Mode) -> Json:
    """The container that is named after the IEC: observed in-process; in multi-process mode the connector is inferred."""
    spec = iec["spec"]["worker"]
    port = spec["modelInvocationPort"]
    container: Json = {
        "name": Names(iec).iec,
        "image": spec["image"],
        "args": [*(spec.get("args") or []), *_transfer(iec, options, mode)],
        "env": worker_env(iec, options, mode),
        "ports": [{"name": port.get("name") or "http", "containerPort": port["containerPort"], "protocol": "TCP"}],
        "resources": copy.deepcopy(spec["resources"]),
        "volumeMounts": _worker_mounts(iec, mode),
        **_probes(iec),
    }
    for key in ("command", "workingDir"):
        if spec.get(key):
            container[key] = spec[key]
    if not container["args"]:
        del container["args"]
    return container


def _transfer(iec: Json, options: Options, mode: Mode) -> list[str]:
    """vLLM's connector, appended to the IEC's arguments (observed), unless they name one themselves (inferred)."""
    given = iec["spec"]["worker"].get("args") or []
    if not any(caches(iec)) or any(each.split("=")[0] == "--kv-transfer-config" for each in given):
        return []
    config: Json = {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
    if mode == "MultiProcess":
        place = {"lmcache.mp.host": "tcp://127.0.0.1", "lmcache.mp.port": SERVER_PORT}
        extra = place | (options.overrides.get("worker") or {}).get("transfer", {})
        config = {"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}
    return ["--kv-transfer-config", json.dumps(config, separators=(",", ":"))]


def _worker_mounts(iec: Json, mode: Mode) -> list[Json]:
    given, (l1, l2) = iec["spec"]["worker"]["modelVolumeMount"], caches(iec)
    mounts: list[Json] = [{"name": given["name"], "mountPath": given.get("mountPath") or "/opt/ml/model"}]
    if mode == "MultiProcess":
        return [*mounts, {"name": "dshm", "mountPath": "/dev/shm"}]
    if l1 or l2:
        mounts.append({"name": "lmcache-config", "mountPath": CONFIG_FILE.rpartition("/")[0]})
    if l2:
        mounts.append({"name": "host-shm", "mountPath": "/dev/shm/ai_toolkit_cache", "subPath": "ai_toolkit_cache"})
    return mounts


def _probes(iec: Json) -> Json:
    """The IEC's; without any a readiness probe of one second on the load balancer's path (inferred)."""
    spec = iec["spec"]
    if given := spec["worker"].get("probes"):
        return {name: copy.deepcopy(probe) for name, probe in given.items() if probe}
    path = (spec.get("loadBalancer") or {}).get("healthCheckPath") or "/ping"
    port = spec["worker"]["modelInvocationPort"]["containerPort"]
    return {"readinessProbe": {"httpGet": {"path": path, "port": port}, "timeoutSeconds": 1, "periodSeconds": 10}}


def server(iec: Json, options: Options) -> Json:
    """The LMCache server beside the worker, in the worker's image. AWS's notes say that there is one; all else is inferred."""
    words = ["lmcache", "server", "--host", "127.0.0.1", "--port", str(SERVER_PORT), "--chunk-size", "256"]
    words += ["--l1-size-gb", "10", "--eviction-policy", "LRU"]
    env: list[Json] = []
    if caches(iec)[1]:
        adapter = {
            "type": "sagemaker-hyperpod", "url": "http://$(NODE_IP):9200", "shared_memory_name": "ai_toolkit_cache",
        }  # fmt: skip
        words += ["--l2-adapter", json.dumps(adapter, separators=(",", ":"))]
        env.append(node_ip())
    words += (options.overrides.get("server") or {}).get("appendArgs", [])
    container: Json = {
        "name": SERVER,
        "image": iec["spec"]["worker"]["image"],
        "command": words[:2],
        "args": words[2:],
        "env": env,
        "resources": {"requests": {"cpu": "50m", "memory": "256Mi"}},
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
    }
    if "shell-server" in options.variants:
        container |= {"command": ["/bin/sh", "-c", shlex.join(words)]}
        del container["args"]
    if "native-sidecar" in options.variants:
        container["restartPolicy"] = "Always"
    return container


def side(iec: Json, options: Options) -> list[Json]:
    """Reverse proxy and collector: names and ports are observed, the rest is inferred. In a side image they are a relay and a sleeper."""
    version = {"name": "OPERATOR_VERSION", "value": f"v{options.version}"}
    ports = [{"name": "proxy", "containerPort": PROXY_PORT}, {"name": "proxy-metrics", "containerPort": 9113}]
    proxy: Json = {"name": PROXY, "env": [version], "ports": ports, "resources": _SMALL}
    collector: Json = {"name": COLLECTOR, "env": [version], "resources": _SMALL}
    if options.images.side:
        target = str(iec["spec"]["worker"]["modelInvocationPort"]["containerPort"])
        proxy |= {"image": options.images.side, "command": ["python", "-c", RELAY, str(PROXY_PORT), target]}
        collector |= {"image": options.images.side, "command": SLEEP}
    else:
        proxy["image"] = f"emulator.invalid/hyperpod-inference-proxy:v{options.version}"
        collector["image"] = f"emulator.invalid/hyperpod-inference-otel:v{options.version}"
    return copy.deepcopy([proxy, collector])
