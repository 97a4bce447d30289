"""Four writers, four readers and a keeper over a failing filesystem, killed at random points."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultfs.daemon import FaultFs

from .run import Run, Totals

WAYS: dict[str, tuple[str, ...]] = {"page-cache": (), "direct-io": ("--direct-io",), "beside": ()}
"""The last one is without faults: only there, on an ordinary filesystem, can the adapter read past its own buffers."""


@pytest.mark.parametrize(("way", "fault_fs_options"), WAYS.items(), ids=WAYS)
def test_no_wrong_byte_no_leak_every_bad_file_repaired_or_gone(
    fault_fs: FaultFs, way: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """A third of the runs each. A failure names its seed: `--runs 1 --first-seed <seed>` with `-k` the way."""
    runs, first = (pytestconfig.getoption(name) for name in ("--runs", "--first-seed"))
    each = -(-runs // len(WAYS))
    begin = first + (each * list(WAYS).index(way) if runs > 1 else 0)
    totals, wrong = Totals(), list[str]()
    for seed in range(begin, begin + each):
        wrong += Run(fault_fs, tmp_path, seed, totals, beside=way == "beside").go()
    print(totals)
    assert not wrong, "\n".join(wrong)
    assert totals.kills >= each
    assert totals.counts["load hit"] > 0
    assert totals.damaged > 0
