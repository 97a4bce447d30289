"""Files of LMCache's own adapter in the same directory: counted, never unknown, and gone after the TTL."""

from __future__ import annotations

from pathlib import Path

from .volume import BLOCK, DAY, Root, Volume, cleaned, clock, told

HASH = "20d13f7c0369933206a24228477ef286b5f255b118a336edcce1d2995d74fc89"
NAMES = [f"-SEP-models-SEP-tiny@0x01000100@0@{HASH}.data", f"org-SEP-m@0x02010201@a@{HASH}@a-salt.data"]


def plain(root: Root) -> list[Path]:
    files = [root.path / name for name in NAMES]
    for file in files:
        file.write_bytes(b"k" * BLOCK)
    return files


def test_they_count_and_are_nothing_unknown(volume: Volume) -> None:
    root = volume.root()
    files = plain(root)
    (root.path / "notes.data").write_bytes(b"a person's")
    keeper = volume.keeper(ttl="168h")
    keeper.round()
    (found,) = keeper.x.table.of()
    assert (found.plain_files, found.plain_size) == (2, 2 * BLOCK)
    assert all(file.exists() for file in files)
    assert told(keeper).reasons() == ["UnknownFile"]


def test_they_go_after_the_ttl_and_not_before(volume: Volume) -> None:
    root = volume.root()
    files = plain(root)
    other = root.path / "notes.data"
    other.write_bytes(b"a person's")
    keeper = volume.keeper(ttl="168h")
    keeper.round()
    clock(keeper).advance(6 * DAY)
    keeper.round()
    assert all(file.exists() for file in files)
    clock(keeper).advance(2 * DAY)
    keeper.round()
    assert not any(file.exists() for file in files)
    assert other.exists()
    assert cleaned(keeper, "plain") == 2
    assert keeper.x.table.of()[0].plain_files == 0


def test_without_a_ttl_they_stay(volume: Volume) -> None:
    files = plain(volume.root())
    keeper = volume.keeper(ttl="0s")
    keeper.round()
    clock(keeper).advance(1000 * DAY)
    keeper.round()
    assert all(file.exists() for file in files)
