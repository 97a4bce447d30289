"""The worker's environment, in the operator's order."""

from __future__ import annotations

from .names import SYSTEM, Names
from .options import Json, Mode, Options

CONFIG_FILE = "/etc/lmcache/lmcache_config.yaml"
"""Where the volume `lmcache-config` shows it (inferred)."""

REMOTE_URL = "sagemaker-hyperpod://$(NODE_IP):9200"
EXTRA_CONFIG = '{"sagemaker_hyperpod_shared_memory_name": "ai_toolkit_cache"}'
CONTROLLER_PORT = 9000


def caches(iec: Json) -> tuple[bool, bool]:
    """Whether L1 and L2 are on; L1 is by default (observed in the definition)."""
    spec = iec["spec"].get("kvCacheSpec") or {}
    return bool(spec.get("enableL1Cache", True)), bool(spec.get("enableL2Cache", False))


def routed(iec: Json) -> bool:
    return bool((iec["spec"].get("intelligentRoutingSpec") or {}).get("enabled"))


def worker_env(iec: Json, options: Options, mode: Mode) -> list[Json]:
    """The IEC's variables, then the operator's: the order of what users have published.

    Names that stand in both: the operator's win, unless a variant says otherwise.
    """
    own = _own(iec, mode)
    given = [dict(each) for each in iec["spec"]["worker"].get("environmentVariables") or []]
    lmcache = [each for each in given if each["name"].startswith("LMCACHE_")]
    if "strip-lmcache" in options.variants:
        return [each for each in given if each not in lmcache] + own
    if "duplicate-env" in options.variants:
        return [each for each in given if each not in lmcache] + own + lmcache
    names = {each["name"] for each in own}
    return [each for each in given if each["name"] not in names] + own


def _own(iec: Json, mode: Mode) -> list[Json]:
    names, (l1, l2) = Names(iec), caches(iec)
    env: list[Json] = []
    if routed(iec):
        # Observed as far as "…-routing-service.hyperp"; the rest is inferred.
        host = f"{names.router_service}.{SYSTEM}.svc.cluster.local:{CONTROLLER_PORT}"
        env.append({"name": "LMCACHE_CONTROLLER_PULL_URL", "value": host})
    if mode == "InProcess":
        if l1 or l2:
            # Inferred from the volume's name.
            file = (iec["spec"].get("kvCacheSpec") or {}).get("cacheConfigFile") or CONFIG_FILE
            env.append({"name": "LMCACHE_CONFIG_FILE", "value": file})
        if l2:
            env += l2_env()
    return env


def node_ip() -> Json:
    return {"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}


def l2_env() -> list[Json]:
    """With L2 on (observed)."""
    return [
        node_ip(),
        {"name": "LMCACHE_REMOTE_URL", "value": REMOTE_URL},
        {"name": "LMCACHE_EXTRA_CONFIG", "value": EXTRA_CONFIG},
    ]
