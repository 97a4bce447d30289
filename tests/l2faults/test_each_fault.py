"""Each fault alone, at its worst: every task is answered, no byte is wrong, and hits are back after it ends."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultfs.daemon import FaultFs
from tiered_kv_cache.l2 import errors
from tiered_kv_cache.l2.tier import Tier

from . import objects, worker
from .faults import MENU

BACK_SECONDS = 60.0
"""A bound for a tier that does not come back, not a figure; the pauses between probes are far shorter."""
STORED, NEW = objects.CHAIN_NAMES[:2]
HARMLESS = {"stale handles", "slow", "slow stat", "stale", "no unlink", "ignored unlink"}
"""Nothing that was stored before may be missed because of these. `slow` ends before any deadline of these tests."""


@pytest.fixture(scope="module")
def running(fuse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultFs]:
    """One mount for all: each test has its own writer."""
    with FaultFs(tmp_path_factory.mktemp("faults")) as mounted:
        yield mounted


@pytest.fixture
def tier(running: FaultFs) -> Iterator[Tier]:
    """A tier with an empty directory."""
    running.faults.clear()
    shutil.rmtree(running.backing / "v1", ignore_errors=True)
    quick = {
        "positive_cache_ms": 0,
        "load_base_ms": 3000,
        "stall_ms": 2000,
        "lookup_deadline_ms": 2000,
        "direct_io": False,
    }
    made = worker.tier_of(running.mount / objects.FOLDER, "pod", random.Random(0), **quick)
    yield made
    running.faults.clear()
    made.close()


def _store_until_hits(tier: Tier, names: list[str], report: worker.Report, quarantine: worker.Quarantine) -> None:
    """A store may be given up where the machine is slow, and a breaker takes its time."""
    end = time.monotonic() + BACK_SECONDS
    while True:
        worker.store(tier, names, report)
        causes = worker.load(tier, names, report, quarantine)
        if set(causes.values()) == {None}:
            return
        assert time.monotonic() < end, f"no hits: {causes}, {tier.status()}"
        time.sleep(0.02)


@pytest.mark.parametrize("name", MENU)
def test_fault(running: FaultFs, tier: Tier, tmp_path: Path, name: str) -> None:
    report = worker.Report(tmp_path / "report")
    quarantine = worker.Quarantine(report)
    _store_until_hits(tier, STORED, report, quarantine)

    MENU[name](running.faults, 1.0)
    looked = worker.look_up(tier, [objects.ref(one) for one in STORED], report)
    loaded = worker.load(tier, STORED, report, quarantine)
    stored = worker.store(tier, NEW, report)
    assert looked is not None
    assert stored is not None
    assert loaded.keys() == set(STORED)
    if name in HARMLESS:
        assert set(loaded.values()) <= {None, errors.DEADLINE, errors.STALL}, loaded
    # What is said to be stored may be damaged, and is then a miss, never wrong.
    worker.load(tier, NEW, report, quarantine)
    running.faults.clear("EIO")

    _store_until_hits(tier, STORED + NEW, report, quarantine)
    quarantine.check()
    assert (tmp_path / "report").read_text() == ""

    tier.close()
    worker.keeper_of(running.mount, tmp=-2.0, quota=1 << 40).round()
    found = objects.scan(running.backing / objects.FOLDER)
    assert (found.temporary, found.strange, found.bad) == ([], [], {})
    assert found.good == {*STORED, *NEW}
