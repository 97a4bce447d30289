"""What runs beside a block, and the times of phases."""

from __future__ import annotations

import threading
import time

import pytest

from local_cluster import progress


def test_every_calls_until_the_block_ends() -> None:
    called = threading.Event()
    with progress.every(0.01, called.set):
        assert called.wait(10)
    time.sleep(0.1)  # a call that was under way when the block ended
    called.clear()
    time.sleep(0.1)
    assert not called.is_set()


def test_a_phase_that_fails_is_timed_but_not_called_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="broken"), progress.phase("phase-that-fails", "on purpose"):
        raise ValueError("broken")
    assert "phase-that-fails: on purpose" in capsys.readouterr().out
    assert "phase-that-fails" in progress.table(at_least_s=0)
