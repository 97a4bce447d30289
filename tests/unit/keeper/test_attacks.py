"""A tenant may write to its own part of the volume. The keeper has more rights, and must not be led out of it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any

from tiered_kv_cache.keeper import plan
from tiered_kv_cache.keeper.keeper import Keeper

from .volume import BLOCK, FINGERPRINT, Volume, clock, name

HARSH: dict[str, Any] = {
    "quota": 1,
    "ttl": "1s",
    "grace": {"orphan": 1, "tmp": 1, "directory": 1, "nfs": 1, "object": 0},
}
"""Settings under which everything that may go goes."""


def harsh(volume: Volume) -> Keeper:
    """Rounds of a keeper that removes all it may."""
    keeper = volume.keeper(**HARSH)
    keeper.round()
    clock(keeper).advance(1_000_000)
    for _ in range(3):
        keeper.round()
    return keeper


def test_links_at_any_level_lead_nowhere(volume: Volume, tmp_path: Path) -> None:
    outside = Volume(tmp_path / "outside")
    victim = outside.root("bank")
    victim.put(*range(5))
    victim.tmp("0.tmp")
    victim.tmp("1.bad")
    before = outside.everything()
    root = volume.root()
    root.put("mine")
    v1 = volume.mount / "v1"
    (v1 / "linked-lob").symlink_to(outside.mount / "v1" / "bank")
    (v1 / "retail" / "linked-model").symlink_to(outside.mount / "v1" / "bank" / "tiny")
    (v1 / "retail" / "tiny" / ("e" * 16)).symlink_to(victim.path)
    other = volume.root("cards")
    for part in ("objects", "tmp", "use", ".keeper"):
        (other.path / part).symlink_to(victim.path / part)
    third = volume.root("loans")
    (third.path / "objects").mkdir()
    for number in range(256):
        (third.path / "objects" / f"{number:02x}").symlink_to(victim.path / "objects" / f"{number:02x}")
    fourth = volume.root("loans", fingerprint="d" * 16)
    for i in range(5):
        at = fourth.file(i).parent
        at.parent.mkdir(parents=True, exist_ok=True)
        at.symlink_to(victim.file(i).parent)
    (volume.mount / "v1" / "loop").symlink_to(volume.mount / "v1" / "loop")
    (volume.mount / "v1" / "retail" / "everything").symlink_to("/")
    harsh(volume)
    assert outside.everything() == before
    assert root.there("mine") == []


def test_an_object_that_is_a_link_a_fifo_a_socket_or_a_folder_stays(volume: Volume, tmp_path: Path) -> None:
    root = volume.root()
    precious = tmp_path / "precious"
    precious.write_text("keep")
    for label in ("link", "hanging", "fifo", "socket", "folder"):
        root.file(label).parent.mkdir(parents=True, exist_ok=True)
    root.file("link").symlink_to(precious)
    root.file("hanging").symlink_to("/nowhere")
    os.mkfifo(root.file("fifo"))
    here = Path.cwd()
    os.chdir(root.file("socket").parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(root.file("socket").name)
    finally:
        os.chdir(here)
    root.file("folder").mkdir()
    keeper = harsh(volume)
    for label in ("link", "hanging", "fifo", "socket", "folder"):
        assert os.path.lexists(root.file(label)), label
    assert precious.read_text() == "keep"
    assert keeper.x.table.objects == 0


def test_a_directory_swapped_for_a_link_in_a_loop_never_costs_another_one_a_file(
    volume: Volume, tmp_path: Path
) -> None:
    outside = Volume(tmp_path / "outside")
    victim, root = outside.root("bank"), volume.root()
    labels = list(range(40))
    victim.put(*labels)
    before = outside.everything()
    folder = root.path / "objects"
    aside = root.path / "aside"
    root.put(*labels)
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            folder.rename(aside)
            folder.symlink_to(victim.path / "objects")
            folder.unlink()
            aside.rename(folder)
            swaps += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(30):
            keeper = volume.keeper(**HARSH)
            keeper.round()
            clock(keeper).advance(10_000)
            keeper.round()
            root_now = folder if folder.is_dir() else aside
            assert root_now is not None
    finally:
        stop.set()
        thread.join()
    assert outside.everything() == before
    assert swaps > 30


def test_a_hard_link_costs_only_the_name(volume: Volume, tmp_path: Path) -> None:
    root = volume.root()
    kept = tmp_path / "kept"
    root.put("a")
    os.link(root.file("a"), kept)
    harsh(volume)
    assert root.there("a") == []
    assert kept.read_bytes() == b"k" * BLOCK


def test_a_sparse_file_counts_by_its_blocks(volume: Volume) -> None:
    root, other = volume.root("retail"), volume.root("cards")
    other.put(*range(5), mtime=time.time() - 100_000)
    root.put("small")
    with root.file("small").open("wb") as file:
        file.truncate(1 << 40)
    keeper = volume.keeper(quota=20 * BLOCK)
    keeper.round()
    assert keeper.x.table.of("retail")[0].size == 1 << 40
    assert keeper.state.snapshot.scopes[-1][1] == 5 * BLOCK
    assert other.there(*range(5)) == list(range(5))


def test_names_with_newlines_and_folders_two_hundred_deep(volume: Volume) -> None:
    root = volume.root()
    root.put("a")
    deep = root.file("a").parent
    for _ in range(200):
        deep = deep / "d"
    deep.mkdir(parents=True)
    odd = root.path / "objects" / "a\nb"
    odd.mkdir()
    keeper = harsh(volume)
    assert deep.exists()
    assert odd.exists()
    assert root.there("a") == []
    assert keeper.state.snapshot.unknown["retail"] == 2


def test_a_record_made_up_by_a_tenant_marks_only_its_own(volume: Volume) -> None:
    mine, other = volume.root("retail"), volume.root("cards")
    now = time.time()
    mine.put("a", mtime=now - 100)
    other.put("a", mtime=now - 100)
    (other.path / ".keeper").mkdir()
    for junk in (b"", b"TKCKUSE1", b"TKCKUSE1" + b"\xff" * 40, os.urandom(2000)):
        (other.path / ".keeper" / "uses").write_bytes(junk)
        keeper = volume.keeper()
        keeper.round()
        assert {f.lob: next(f.rows())[1] for f in keeper.x.table.of()} == {
            "retail": int(now - 100),
            "cards": int(now - 100),
        }


def test_a_tenant_that_removes_everything_under_the_keeper_stops_nothing(volume: Volume) -> None:
    root, other = volume.root("retail"), volume.root("cards")
    root.put(*range(20), mtime=time.time() - 100)
    other.put(*range(20), mtime=time.time() - 100)
    keeper = volume.keeper()
    keeper.round()
    victims = plan.oldest(keeper.x.table.of(), keeper.x.accounting.charge, 2**32 - 1, 100)
    shutil.rmtree(root.path)
    with keeper._root() as fd:
        assert fd is not None
        assert keeper.evictor.run(fd, victims, "quota") == 20
    assert other.there(*range(20)) == []
    assert keeper.x.counts.errors == {}


def test_a_mount_point_may_be_a_link(volume: Volume, tmp_path: Path) -> None:
    root = volume.root()
    root.put("a")
    link = tmp_path / "link"
    link.symlink_to(volume.mount)
    volume.mount = link
    keeper = volume.keeper()
    keeper.round()
    assert keeper.x.table.objects == 1


def test_a_name_of_another_directory_is_no_object(volume: Volume) -> None:
    root = volume.root()
    root.put("a")
    wrong = root.path / "objects" / "00" / "00"
    wrong.mkdir(parents=True)
    (wrong / f"{name('a')}.kv").write_bytes(b"k")
    keeper = harsh(volume)
    assert (wrong / f"{name('a')}.kv").exists()
    assert keeper.state.snapshot.unknown["retail"] == 1
    assert FINGERPRINT in str(root.path)
