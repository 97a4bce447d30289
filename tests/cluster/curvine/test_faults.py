"""Parts of the pool fail under a real engine's requests: nothing may fail, no text may differ, hits must come back."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial

import pytest

from ..api import Api
from ..drills.conftest import SMOLLM2
from ..steady import Client, table, trial
from .conftest import Install
from .parts import Pool

Fault = Callable[[Pool, str], Callable[[], object]]


def _killed(part: str, container: str, program: str) -> Fault:
    def begin(pool: Pool, node: str) -> Callable[[], object]:
        count = len(pool.pods(part))
        victim = pool.pods(part)[0] if part == "masters" else pool.on(part, node)
        pool.kill(victim, container, program)
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
    pool.kill(pool.on("workers", node), "worker", "curvine-server")
    return lambda: pool.ready("workers", 2)


FAULTS: dict[str, Fault] = {
    "FUSE process killed": _killed("client", "mount", "curvine-fuse"),
    "client Pod deleted": _removed("client"),
    "worker killed": _killed("workers", "worker", "curvine-server"),
    "worker Pod deleted": _removed("workers"),
    "worker's disk wiped": _wiped,
    "master killed": _killed("masters", "master", "curvine-server"),
    "master Pod deleted": _removed("masters"),
}


@pytest.mark.parametrize("masters", [1])
def test_each_part(install: Install, api: Api, namespace: str, nodes: Callable[..., str], masters: int) -> None:
    def engine() -> Client:
        engines = install(masters, 1, models={"tiny": {"replicas": 1, **SMOLLM2}})
        made = Client(engines, engines.pods()[0])
        colds.extend(made.fill())
        made.steady(3)
        return made

    colds: list[float] = []
    bad: list[str] = []
    rows = []
    pool = Pool(api, namespace, nodes)
    now = engine()
    for name, fault in FAULTS.items():
        seen = trial(now, name, partial(fault, pool, now.pod.spec.node_name))
        rows.append(seen.row)
        bad += seen.bad
        colds += seen.colds
        if seen.broken:
            now = engine()
    print(table(f"{masters} masters: TTFT cold {statistics.median(colds):.0f} ms (median of {len(colds)})", rows))
    assert not bad, "\n".join(bad)
