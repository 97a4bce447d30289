"""Parts of the pool fail under a real engine's requests: nothing may fail, no text may differ, hits must come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from ..api import Api
from ..drills.conftest import SMOLLM2
from ..engines import Engines
from ..steady import Client, trials
from .conftest import Install
from .parts import Pool

Fault = Callable[[Pool, str], Callable[[], object]]


def _killed(part: str, program: str) -> Fault:
    def begin(pool: Pool, node: str) -> Callable[[], object]:
        count = len(pool.pods(part))
        victim = pool.pods(part)[0] if part == "masters" else pool.on(part, node)
        pool.kill(victim, program)
        return lambda: pool.ready(part, count)

    return begin


def _removed(part: str) -> Fault:
    def begin(pool: Pool, node: str) -> Callable[[], object]:
        count = len(pool.pods(part))
        pool.remove(pool.pods(part)[0] if part == "masters" else pool.on(part, node))
        return lambda: pool.ready(part, count)

    return begin


def _wiped(pool: Pool, node: str) -> Callable[[], object]:
    pool.wipe(node)
    pool.kill(pool.on("workers", node), "curvine-server")
    return lambda: pool.ready("workers", 2)


FAULTS: dict[str, Fault] = {
    "FUSE process killed": _killed("client", "curvine-fuse"),
    "client Pod deleted": _removed("client"),
    "worker killed": _killed("workers", "curvine-server"),
    "worker Pod deleted": _removed("workers"),
    "worker's disk wiped": _wiped,
    "master killed": _killed("masters", "curvine-server"),
    "master Pod deleted": _removed("masters"),
}


@pytest.mark.parametrize("masters", [1])
def test_each_part(install: Install, api: Api, namespace: str, nodes: Callable[..., str], masters: int) -> None:
    def engine() -> Engines:
        return install(masters, 1, models={"tiny": {"replicas": 1, **SMOLLM2}})

    pool = Pool(api, namespace, nodes)
    faults = {name: partial(_at, fault, pool) for name, fault in FAULTS.items()}
    bad = trials(f"{masters} masters", engine, faults)
    assert not bad, "\n".join(bad)


def _at(fault: Fault, pool: Pool, now: Client) -> Callable[[], object]:
    return fault(pool, now.pod.spec.node_name)
