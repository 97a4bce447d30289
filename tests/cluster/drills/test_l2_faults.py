"""The fault filesystem as L2 below a real engine under steady requests: each fault on and off, our adapter and LMCache's own.

Prints one table an adapter. With ours nothing may fail, no text may differ and hits must come back; of LMCache's `fs` the
same is only told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from faultfs import graft
from faultfs.client import Fault, Faults
from faultfs.daemon import FaultFs
from faultfs.pytest_plugin import fuse
from local_cluster.providers.kind import Kind
from local_cluster.run import output

from ..engines import Engines
from ..steady import Client, trials
from .conftest import SMOLLM2, Install

__all__ = ["fuse"]

IN_NODE = "/mnt/tkc-faulty"
Switch = Callable[[Faults], list[Fault]]


# On every file, whatever an adapter calls it: those of l2faults.faults fit ours only.
FAULTS: dict[str, Switch] = {
    "eio read": lambda faults: [faults.eio("read")],
    "eio write": lambda faults: [faults.eio("write")],
    "eio all": lambda faults: [faults.error("EIO")],
    "enospc": lambda faults: [faults.enospc()],
    "read only": lambda faults: [faults.read_only()],
    "enotconn": lambda faults: [faults.enotconn()],
    "estale": lambda faults: [faults.estale("open read stat")],
    "hang read": lambda faults: [faults.hang("read")],
    "hang write": lambda faults: [faults.hang("write")],
    "hang stat": lambda faults: [faults.hang("stat")],
    "hang all": lambda faults: [faults.hang("*")],
    "lost tail": lambda faults: [faults.lost_tail()],
    "cut": lambda faults: [faults.cut()],
    "short read": lambda faults: [faults.short_read()],
    "flip": lambda faults: [faults.flip()],
    "zeros": lambda faults: [faults.zeros()],
    "vanish": lambda faults: [faults.vanish()],
    "300 ms each read": lambda faults: [faults.delay("read", ms=300)],
    "40 MB/s": lambda faults: [faults.delay("read write", total_mb_s=40)],
    "stale 1 s": lambda faults: [faults.stale(1.0)],
    "no atime, no utime": lambda faults: [faults.noatime(), faults.ignore("utime")],
}


@pytest.fixture
def faulty(fuse: None, tmp_path: Path) -> Iterator[FaultFs]:
    """One fault filesystem, seen by all nodes that run Pods."""
    kind = Kind()
    with FaultFs(tmp_path, "--allow-other", "--entry-timeout", "1", "--attr-timeout", "1") as running:
        running.backing.chmod(0o1777)
        for node in kind.nodes()[1:]:
            words = kind.engine.words("inspect", "-f", "{{.State.Pid}}", node)
            graft.into(int(output(words, env=kind.engine.env)), running.mount, IN_NODE)
        try:
            yield running
        finally:
            running.faults.clear("EIO")
            for node in kind.nodes()[1:]:
                output(kind.engine.words("exec", node, "umount", "-l", IN_NODE), env=kind.engine.env, check=False)


@pytest.mark.parametrize("adapter", ["guarded", "fs"])
def test_each_fault(install: Install, faulty: FaultFs, adapter: str) -> None:
    ours = adapter == "guarded"

    def engine() -> Engines:
        model = {**SMOLLM2, "cache": {**SMOLLM2["cache"], "l2": {"adapter": adapter}}}
        return install(model, replicas=1, l2={"volume": {"hostPath": {"path": IN_NODE}}})

    bad = trials(adapter, engine, {name: partial(_begin, switch, faulty.faults) for name, switch in FAULTS.items()})
    if ours:
        assert not bad, "\n".join(bad)


def _begin(switch: Switch, faults: Faults, now: Client) -> Callable[[], None]:
    active = switch(faults)

    def end() -> None:
        for fault in active:
            fault.remove()

    return end
