"""Which L2 are measured, as values of the chart, and which cannot be, each with what a Pod is asked to prove it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

NONE, AGAIN, OURS = "none", "none-again", "guarded"
L2_ROOT = "/run/tkc/l2"
"""In the Pods: the fingerprint's directory on the shared volume."""
POD_DISK = "/tmp/l2"
"""In the LMCache container: a disk that no other Pod sees."""


@dataclass(frozen=True)
class Peer:
    """One L2.

    Args:
        cache: values below `cache.l2` of the model, by the address of the Redis, which is empty for those that need none.
        tiers: what `bench run` asks for, beside cold.
        redis: whether it needs the Redis.
    """

    name: str
    what: str
    cache: Callable[[str], Json]
    tiers: str = "l2"
    redis: bool = False


@dataclass(frozen=True)
class Absent:
    """An L2 of LMCache that the CPU engine cannot use.

    Args:
        module: Python module that it needs; an engine Pod says why it cannot be imported. Empty: it is not for want of one.
    """

    name: str
    why: str
    module: str = ""


def _custom(config: Json) -> Json:
    return {"adapter": "custom", "adapterConfig": config}


ALL = (
    Peer(NONE, "no L2", lambda _: {"enabled": False}, tiers="cold"),
    Peer(OURS, "this bundle's adapter on the shared volume", lambda _: {"adapter": "guarded"}),
    Peer("fs", "LMCache's fs on the same volume", lambda _: {"adapter": "fs"}),
    Peer("fs_native", "LMCache's native fs on the same volume", lambda _: _custom(
        {"type": "fs_native", "base_path": L2_ROOT, "relative_tmp_dir": ".tmp-$(POD_NAME)"})),
    Peer("redis", "LMCache's resp, one Redis in the cluster", lambda host: _custom(
        {"type": "resp", "host": host, "port": 6379}), redis=True),
    # As an L2 that Pods share it gives nothing, which is measured, too.
    Peer("disk", "LMCache's fs on the Pod's own disk", lambda _: _custom({"type": "fs", "base_path": POD_DISK}), tiers="own"),
    Peer(AGAIN, "no L2, once more", lambda _: {"enabled": False}, tiers="cold"),
)  # fmt: skip
"""In the order in which they are measured."""

NOT_IN_WHEEL = "its native part is not in LMCache's wheel on PyPI"
NOT_IN_IMAGE = "which is not in the engine's image"
ABSENT = (
    Absent(
        "lm:// (LMCache's own server)",
        "a connector of LMCache inside vLLM, where it has none for the CPU; the multi-process server, which is what runs here, "
        "has no adapter of this kind, and is itself reached by one Pod only (shared memory)",
    ),
    Absent("p2p (other Pods' LMCache servers)", f"needs a transfer channel, NIXL or Mooncake, {NOT_IN_IMAGE}", "nixl"),
    Absent("mooncake_store", NOT_IN_WHEEL, "lmcache.lmcache_mooncake"),
    Absent("nixl_store, nixl_store_dynamic", f"needs NIXL, {NOT_IN_IMAGE}", "nixl._api"),
    Absent("nixl_native", NOT_IN_WHEEL, "lmcache.lmcache_nixl"),
    Absent(
        "valkey (by GLIDE)", f"needs valkey-glide-sync, {NOT_IN_IMAGE}; resp speaks to the same servers", "glide_sync"
    ),
    Absent("aerospike", NOT_IN_WHEEL, "lmcache.lmcache_aerospike"),
    Absent("hf3fs", NOT_IN_WHEEL, "lmcache.lmcache_hf3fs"),
    Absent(
        "bigtable", f"needs Google's client, {NOT_IN_IMAGE}, and a service outside the cluster", "google.cloud.bigtable"
    ),
    Absent("s3, hfbucket", "stores outside the cluster"),
    Absent("sagemaker_hyperpod", "speaks to a daemon that only HyperPod's nodes have"),
    Absent("dax, raw_block", "take a device of the node to themselves, which no other node sees"),
)
"""LMCache 0.5.6, lmcache/v1/distributed/l2_adapters."""


def chosen(names: str) -> tuple[Peer, ...]:
    """Those of a comma-separated list, in the table's order; empty: all.

    Raises:
        ValueError: a name that there is not, or without ours, with which all are compared; says what there is.
    """
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    known = [peer.name for peer in ALL]
    unknown = sorted(wanted - set(known))
    if unknown or (wanted and OURS not in wanted):
        told = (
            f"{', '.join(unknown)}: there is no such peer"
            if unknown
            else f"{OURS} is missing, with which all are compared"
        )
        raise ValueError(f"{told}; peers are {', '.join(known)}")
    return tuple(peer for peer in ALL if not wanted or peer.name in wanted)


def values(peer: Peer, model: str, redis: str, base: Mapping[str, Any]) -> Json:
    """Values over those of the demo (`base`): this L2, and nothing that takes time or the demo's port.

    Each peer has a line of business of its own, so that none finds what another stored.
    """
    acknowledge = {"acknowledge": {"customAdapter": True}} if peer.cache(redis).get("adapter") == "custom" else {}
    return {
        "lineOfBusiness": f"peers-{peer.name.replace('_', '-')}",
        "l2": {"volume": base["l2"]["volume"], "keeper": {"enabled": False}},
        "hooks": {"verify": {"enabled": False}, "preflight": {"enabled": False}, "storageCheck": {"enabled": False}},
        "models": {
            model: {
                "engine": acknowledge,
                "cache": {"l2": peer.cache(redis)},
                "routing": {"service": {"type": "ClusterIP", "nodePort": None}},
                "terminationGracePeriodSeconds": 30,
            }
        },
    }
