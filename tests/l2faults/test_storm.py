"""Four writers, four readers and a keeper over a failing filesystem, killed at random points."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultfs.daemon import FaultFs

from .run import Run, Totals


def test_no_wrong_byte_no_leak_every_bad_file_repaired_or_gone(
    fault_fs: FaultFs, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """`--runs 500` by hand; a failure names the seed: `--runs 1 --first-seed <seed>`."""
    runs, first = (pytestconfig.getoption(name, default) for name, default in (("--runs", 12), ("--first-seed", 0)))
    totals, wrong = Totals(), list[str]()
    for seed in range(first, first + runs):
        wrong += Run(fault_fs, tmp_path, seed, totals).go()
    print(totals)
    assert not wrong, "\n".join(wrong)
    assert totals.kills >= runs
    assert totals.counts["load hit"] > 0
