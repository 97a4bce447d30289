"""Four writers, four readers and a keeper over a failing filesystem, killed at random points."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultfs.daemon import FaultFs

from .run import Run, Totals

WAYS = {"page-cache": (), "direct-io": ("--direct-io",)}


@pytest.mark.parametrize("fault_fs_options", WAYS.values(), ids=WAYS)
def test_no_wrong_byte_no_leak_every_bad_file_repaired_or_gone(
    fault_fs: FaultFs, fault_fs_options: tuple[str, ...], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Half of the runs each. A failure names its seed: `--runs 2 --first-seed <seed>` begins with it."""
    runs, first = (pytestconfig.getoption(name) for name in ("--runs", "--first-seed"))
    half = max(1, runs // 2)
    begin = first + (half if fault_fs_options else 0) if runs > 2 else first
    totals, wrong = Totals(), list[str]()
    for seed in range(begin, begin + half):
        wrong += Run(fault_fs, tmp_path, seed, totals).go()
    print(totals)
    assert not wrong, "\n".join(wrong)
    assert totals.kills >= half
    assert totals.counts["load hit"] > 0
    assert totals.damaged > 0
