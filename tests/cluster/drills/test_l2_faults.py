"""The fault filesystem as L2 below a real engine under steady requests: each fault on and off, our adapter and LMCache's own.

Prints one table an adapter. With ours nothing may fail, no text may differ and hits must come back; of LMCache's `fs` the
same is only told.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from kubernetes import client

from faultfs import graft
from faultfs.client import Fault, Faults
from faultfs.daemon import FaultFs
from faultfs.pytest_plugin import fuse
from l2faults.faults import MENU
from local_cluster.providers.kind import Kind
from local_cluster.run import output
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.engine import Completion, Engine

from ..api import wait_for
from ..engines import CHUNK, Engines, prompt_of
from .conftest import SMOLLM2, Install

__all__ = ["fuse"]

IN_NODE = "/mnt/tkc-faulty"
LENGTH = 4 * CHUNK + 30
KEPT = 4
ON_S = 12.0
BACK_S = 60.0
"""A bound for what never comes back; the table shows the time that it took."""
Switch = Callable[[Faults], list[Fault]]


def _always(name: str) -> Switch:
    return lambda faults: [MENU[name](faults, 1.0)]


FAULTS: dict[str, Switch] = {
    **{
        name: _always(name)
        for name in (
            "eio read", "eio write", "eio all", "enospc", "read only", "enotconn", "estale", "hang read", "hang write",
            "hang stat", "lost tail", "cut", "short read", "flip", "zeros", "vanish",
        )
    },
    "hang all": lambda faults: [faults.hang("*")],
    "300 ms each read": lambda faults: [faults.delay("read", ms=300)],
    "40 MB/s": lambda faults: [faults.delay("read write", total_mb_s=40)],
    "stale 1 s": lambda faults: [faults.stale(1.0)],
    "no atime, no utime": lambda faults: [faults.noatime(), faults.ignore("utime")],
}  # fmt: skip


@dataclass
class Seen:
    """Requests of one phase. TTFT in milliseconds."""

    warm: list[float] = field(default_factory=list)
    """Of prompts that lie in L2."""
    cold: list[float] = field(default_factory=list)
    """Of prompts that nobody has seen."""
    hits: int = 0
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Client:
    """One client of one engine: in turn a prompt that lies in L2 and in no other tier, and a new one."""

    def __init__(self, engines: Engines, pod: client.V1Pod) -> None:
        self.engines, self.pod = engines, pod
        self._engine = Engine(engines.api.url(pod, 8000), engines.model, Deadline(7200))
        self.kept = [prompt_of(f"fault kept {number}", LENGTH) for number in range(KEPT)]
        self.texts: dict[tuple[int, ...], str] = {}
        self._turn = itertools.cycle(self.kept)
        self._new = itertools.count()

    def fill(self) -> list[float]:
        """Let the engine compute and store the kept prompts; their TTFT."""
        before = self.engines.counters(self.pod)
        times = []
        for prompt in self.kept:
            answer = self._complete(prompt)
            self.texts[tuple(prompt)] = answer.text
            times.append(answer.ttft_ms)
        chunks = KEPT * (LENGTH // CHUNK)
        wait_for("stored", lambda: self.engines.counters(self.pod).since(before).stored_chunks >= chunks, 120)
        return times

    def steady(self, seconds: float, fresh: list[list[int]] | None = None) -> Seen:
        """Both kinds of requests for so long; the new prompts are added to `fresh`."""
        seen, end = Seen(), time.monotonic() + seconds
        while time.monotonic() < end:
            self.warm(next(self._turn), seen)
            if fresh is not None:
                prompt = prompt_of(f"fault new {next(self._new)}", LENGTH)
                if answer := self._ask(prompt, seen):
                    seen.cold.append(answer.ttft_ms)
                    self.texts[tuple(prompt)] = answer.text
                    fresh.append(prompt)
        return seen

    def warm(self, prompt: list[int], seen: Seen) -> bool:
        """Ask what should come from L2; whether it did."""
        try:
            self.engines.clear_l0(self.pod)
            self.engines.clear_l1(self.pod)
        except httpx.HTTPError as error:
            seen.failed.append(f"clear: {error!r}")
        before = self.engines.counters(self.pod)
        answer = self._ask(prompt, seen)
        if answer is None:
            return False
        seen.warm.append(answer.ttft_ms)
        hit = self.engines.counters(self.pod).since(before).l2 >= LENGTH // CHUNK * CHUNK
        seen.hits += hit
        if answer.text != self.texts[tuple(prompt)]:
            seen.wrong.append(f"{answer.text!r} is not {self.texts[tuple(prompt)]!r}")
        return hit

    def back(self, seen: Seen) -> float | None:
        """Seconds until the last miss had its answer, before all that was kept hit again; None when it takes too long."""
        begin = last = time.monotonic()
        hits = 0
        while hits < KEPT:
            hits = hits + 1 if self.warm(next(self._turn), seen) else 0
            if not hits:
                last = time.monotonic()
                if last - begin > BACK_S:
                    return None
        return last - begin

    def _ask(self, prompt: list[int], seen: Seen) -> Completion | None:
        try:
            return self._complete(prompt)
        except Exception as error:  # whatever it is, the request has failed
            seen.failed.append(repr(error))
            return None

    def _complete(self, prompt: list[int]) -> Completion:
        return self._engine.complete(prompt, 8)


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

    def engine() -> Client:
        model = {**SMOLLM2, "cache": {**SMOLLM2["cache"], "l2": {"adapter": adapter}}}
        engines = install(model, replicas=1, l2={"volume": {"hostPath": {"path": IN_NODE}}})
        made = Client(engines, engines.pods()[0])
        colds.extend(made.fill())
        made.steady(3)
        return made

    colds: list[float] = []
    rows, bad = [], []
    now = engine()
    for name, switch in FAULTS.items():
        before = now.steady(3)
        fresh: list[list[int]] = []
        active = switch(faulty.faults)
        during = now.steady(ON_S, fresh)
        for fault in active:
            fault.remove()
        after = Seen()
        back = now.back(after)
        settled = now.steady(3)
        # What was stored meanwhile may be damaged, or not there: it must then be a miss.
        stored = Seen()
        for prompt in fresh:
            now.warm(prompt, stored)
        failed = [text for seen in (during, after, settled, stored) for text in seen.failed]
        wrong = [text for seen in (during, after, settled, stored) for text in seen.wrong]
        colds += during.cold
        rows.append(_row(name, (before, during, settled), back, len(failed), len(wrong)))
        print(rows[-1], flush=True)
        bad += [f"{name}: {text}" for text in [*failed, *wrong]]
        if back is None:
            bad.append(f"{name}: no hits {BACK_S:.0f} s after its end")
        if failed or back is None:
            now = engine()
    print(f"\n{adapter}: TTFT cold {statistics.median(colds):.0f} ms (median of {len(colds)}), in ms:\n{HEAD}")
    print("\n".join(rows))
    if ours:
        assert not bad, "\n".join(bad)


HEAD = (
    "| fault | L2 hit before | during: median | during: worst | cold in the same time, median, worst | hits during "
    "| failed | wrong texts | hits back after | L2 hit after |\n|---|---|---|---|---|---|---|---|---|---|"
)


def _row(name: str, phases: tuple[Seen, Seen, Seen], back: float | None, failed: int, wrong: int) -> str:
    before, during, after = phases

    def middle(times: list[float]) -> str:
        return f"{statistics.median(times):.0f}" if times else "-"

    def worst(times: list[float]) -> str:
        return f"{max(times):.0f}" if times else "-"

    cells = [
        name, middle(before.warm), middle(during.warm), worst(during.warm), f"{middle(during.cold)}, {worst(during.cold)}",
        f"{during.hits} of {len(during.warm)}", str(failed), str(wrong), f"{back:.1f} s" if back is not None else "never",
        middle(after.warm),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"
