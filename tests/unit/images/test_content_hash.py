"""The tag of an image: changes with all that goes into it, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cluster import images
from local_cluster.base_image import Base

BASE = Base("localhost/base:1", "one")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("router", "common"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("a")
    monkeypatch.setattr(images, "FOLDER", tmp_path)
    return tmp_path / "router"


def test_same_input_same_hash(folder: Path) -> None:
    first = images.content_hash("router", BASE)
    (folder / "requirements.in").write_text("the lock counts, not this")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_text("")
    assert images.content_hash("router", BASE) == first


def test_content_mode_base_and_common_files_count(folder: Path) -> None:
    seen = {images.content_hash("router", BASE), images.content_hash("router", Base(BASE.reference, "two"))}
    (folder / "file").write_text("b")
    seen.add(images.content_hash("router", BASE))
    (folder / "file").chmod(0o755)
    seen.add(images.content_hash("router", BASE))
    (folder.parent / "common" / "file").write_text("b")
    seen.add(images.content_hash("router", BASE))
    assert len(seen) == 5
