"""Parts of the pool fail under a real engine's requests: nothing may fail, no text may differ, hits must come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from kubernetes import client

from ..drills.conftest import SMOLLM2
from ..engines import Engines
from ..steady import Client, trials
from .conftest import Install
from .parts import Pool

Fault = Callable[[Pool, str], Callable[[], object]]
"""(pool, the engine's node) begins it, and returns what ends it."""


def _victim(pool: Pool, part: str, node: str) -> client.V1Pod:
    return pool.leader() if part == "masters" else pool.on(part, node)


def _killed(part: str, program: str) -> Fault:
    def begin(pool: Pool, node: str) -> Callable[[], object]:
        count = len(pool.pods(part))
        pool.kill(_victim(pool, part, node), program)
        return lambda: pool.ready(part, count)

    return begin


def _removed(part: str) -> Fault:
    def begin(pool: Pool, node: str) -> Callable[[], object]:
        count = len(pool.pods(part))
        pool.remove(_victim(pool, part, node).metadata.name)
        return lambda: pool.ready(part, count)

    return begin


def _wiped(pool: Pool, node: str) -> Callable[[], object]:
    pool.wipe(node)
    pool.kill(_victim(pool, "workers", node), "curvine-server")
    return lambda: pool.ready("workers", 2)


def _cut(pool: Pool, node: str) -> Callable[[], object]:
    """The other node's worker and mount, and its master if one is there."""
    return pool.cut(next(pod.spec.node_name for pod in pool.pods("workers") if pod.spec.node_name != node))


def _leader_cut(pool: Pool, node: str) -> Callable[[], object]:
    """Where the engine runs beside the leader there is nothing to cut but both: the leader is made to go first."""
    while (leader := pool.leader()).spec.node_name == node:
        pool.kill(leader, "curvine-server")
        pool.ready("masters", 3)
    return pool.cut(leader.spec.node_name)


ANY: dict[str, Fault] = {
    "FUSE process killed": _killed("client", "curvine-fuse"),
    "client Pod deleted": _removed("client"),
    "worker killed": _killed("workers", "curvine-server"),
    "worker Pod deleted": _removed("workers"),
    "worker's disk wiped": _wiped,
    "other worker's node cut off": _cut,
    "pool full": Pool.fill,
    "leading master killed": _killed("masters", "curvine-server"),
    "leading master's Pod deleted": _removed("masters"),
}
FAULTS = {1: ANY, 3: {**ANY, "leading master's node cut off": _leader_cut}}


@pytest.mark.parametrize("masters", [1, 3])
@pytest.mark.usefixtures("third_node")
def test_each_part(new_pool: Install, pool: Pool, masters: int) -> None:
    def engine() -> Engines:
        return new_pool(masters, 1, models={"tiny": SMOLLM2})

    faults = {name: partial(_at, fault, pool) for name, fault in FAULTS[masters].items()}
    bad = trials(f"{masters} masters", engine, faults)
    assert not bad, "\n".join(bad)


def _at(fault: Fault, pool: Pool, now: Client) -> Callable[[], object]:
    return fault(pool, now.pod.spec.node_name)
