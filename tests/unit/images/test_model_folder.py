"""A model folder appears whole or not at all, and is not made twice."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parents[3] / "images" / "engine-cpu" / "models" / "_folder.py"
_spec = importlib.util.spec_from_file_location("model_folder", _SCRIPT)
assert _spec and _spec.loader
folder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(folder)


def write(place: Path) -> None:
    (place / "weights").write_text("1")


def test_written_once_and_again_when_its_source_changes(tmp_path: Path) -> None:
    target = tmp_path / "model"
    assert folder.publish(target, {"seed": 0}, write)
    assert not folder.publish(target, {"seed": 0}, write)
    assert folder.publish(target, {"seed": 1}, write)
    assert json.loads((target / "model-source.json").read_text())["source"] == {"seed": 1}
    assert target.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_failed_run_leaves_the_old_folder_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "model"
    folder.publish(target, {"seed": 0}, write)

    def fail(place: Path) -> None:
        write(place)
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        folder.publish(target, {"seed": 1}, fail)
    assert json.loads((target / "model-source.json").read_text())["source"] == {"seed": 0}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_leftovers_of_killed_runs_go_when_they_are_old(tmp_path: Path) -> None:
    old, young = tmp_path / ".model.tmp-a", tmp_path / ".model.tmp-b"
    for leftover in (old, young):
        leftover.mkdir()
    os.utime(old, (0, 0))
    folder.publish(tmp_path / "model", {}, write)
    assert not old.exists()
    assert young.exists()
