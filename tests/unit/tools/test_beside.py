"""What runs beside the tests is shown whole, fails what waits for it, and ends with it."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from ports import _first_port
from testing.__main__ import FIRST, LAST, ONE_BY_ONE, PARTS, SPREAD
from testing.beside import Beside


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


@pytest.mark.parametrize("code", [0, 3])
def test_output_comes_in_one_piece_and_the_code_decides(capfd: pytest.CaptureFixture[str], code: int) -> None:
    script = f"import sys; print('one'); print('two', file=sys.stderr, flush=True); sys.exit({code})"
    with Beside("it", python(script)) as beside:
        print("ours", flush=True)
        assert beside.passed() == (code == 0)
    printed = capfd.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert lines[0] == "ours"
    assert {"one", "two"} <= set(lines[1:])


def test_it_ends_with_the_block_and_with_what_it_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    inner = f"import time; pipe = open({str(alive)!r}, 'w'); print('begun', file=pipe, flush=True); time.sleep(3600)"
    with Beside("it", python(f"import subprocess; subprocess.run({python(inner)!r})")):
        pipe = alive.open()
        assert pipe.readline() == "begun\n"
    with pipe:
        assert select.select([pipe], [], [], 30)[0]
        assert pipe.read() == ""


def test_make_test_leaves_no_part_out() -> None:
    assert sorted([*FIRST, *SPREAD, *ONE_BY_ONE, *LAST]) == sorted(PARTS)


def test_ports_of_a_process_without_workers_are_no_workers_ports() -> None:
    assert _first_port(None) not in {_first_port(f"gw{number}") for number in range(64)}
