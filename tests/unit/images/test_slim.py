"""What the engine image's build removes must leave libraries that load, and a list that is true."""

from __future__ import annotations

import _ctypes
import ctypes
import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

IMAGES = Path(__file__).resolve().parents[3] / "images"


def load(path: Path) -> ModuleType:
    """A script of an image as a module; its folder is not a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


slim = load(IMAGES / "engine-cpu" / "slim.py")


def test_a_library_without_its_tail_still_loads(tmp_path: Path) -> None:
    copy = tmp_path / "library.so"
    shutil.copyfile(_ctypes.__file__, copy)
    whole = copy.stat().st_size
    freed = slim.strip_tail(copy)
    assert freed > 0
    assert copy.stat().st_size == whole - freed
    ctypes.PyDLL(str(copy))
    assert slim.strip_tail(copy) == 0


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "linker-script.so"
    text.write_text("INPUT(libm.so.6)\n" * 10)
    assert slim.strip_tail(text) == 0
    assert text.read_text().startswith("INPUT")


def test_a_pattern_that_fits_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.txt").write_text("12345")
    with pytest.raises(ValueError, match=r"lib/\*\.zip"):
        slim.remove(tmp_path, ["lib/*.zip", "lib/*.txt"])
    assert not list((tmp_path / "lib").iterdir())


def test_a_pattern_of_one_build_alone_may_fit_nothing(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("12345")
    assert slim.remove(tmp_path, ["?gone", "?here"]) == 5
    assert not (tmp_path / "here").exists()
