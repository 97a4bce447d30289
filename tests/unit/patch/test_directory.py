"""The parameter object as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patch.mount import Mount
from tiered_kv_cache.patch.directory import Directory


def test_a_mounted_object_is_read_again_when_it_changes(tmp_path: Path) -> None:
    mount, found = Mount(tmp_path / "parameters"), Directory(tmp_path / "parameters")
    assert found.read() is None
    mount.write({"a.models": b"*", "gone": b"x"})
    assert found.read() == {"a.models": "*", "gone": "x"}
    mount.write({"a.models": b"b"})
    assert found.read() == {"a.models": "b"}
    mount.remove()
    assert found.read() is None
    mount.write({"a.models": b"c"})
    assert found.read() == {"a.models": "c"}


def test_plain_files_do_as_well(tmp_path: Path) -> None:
    found = Directory(tmp_path)
    assert found.read() is None
    (tmp_path / "a.models").write_text("*")
    assert found.read() == {"a.models": "*"}
    (tmp_path / "a.models").write_text("one,two")
    assert found.read() == {"a.models": "one,two"}


def test_unchanged_files_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.models").write_text("*")
    found = Directory(tmp_path)
    first = found.read()
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("opened"))
    assert found.read() is first


def test_what_cannot_be_read_counts_as_missing_until_it_can(tmp_path: Path) -> None:
    file = tmp_path / "a.models"
    file.write_bytes(b"\xff")
    found = Directory(tmp_path)
    assert found.read() is None
    file.write_text("*")
    os.utime(file, ns=(1, 1))
    assert found.read() == {"a.models": "*"}
