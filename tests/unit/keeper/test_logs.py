"""Use logs are tenants' text: bounded, checked, and only ever about their own fingerprint."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tiered_kv_cache.keeper import layout, uses
from tiered_kv_cache.l2 import paths

from .volume import BLOCK, Volume, cleaned, clock, name


def test_a_log_is_read_then_removed_once_the_record_holds_it(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("a", mtime=now - 5000)
    log = root.log(now - 50, "use", "a")
    keeper = volume.keeper()
    keeper.round()
    assert not log.exists()
    assert (root.path / ".keeper" / "uses").stat().st_size == 16 + 20 + 16
    shard, at = keeper.x.table.of()[0].find(layout.object_id(name("a"))) or pytest.fail("no row")
    assert shard.use[at] == int(now - 50)


def test_a_log_of_one_fingerprint_marks_nothing_of_another(volume: Volume) -> None:
    mine, other = volume.root("retail"), volume.root("cards")
    now = time.time()
    mine.put("a", mtime=now - 5000)
    other.put("a", mtime=now - 5000)
    mine.log(now - 5, "use", "a")
    keeper = volume.keeper()
    keeper.round()
    uses_of = {f.lob: next(f.rows())[1] for f in keeper.x.table.of()}
    assert uses_of == {"retail": int(now - 5), "cards": int(now - 5000)}


@pytest.mark.parametrize(
    "line",
    [
        b"use a", b"-5 use x", b"1e9 use x", b"nan use x", b"9" * 400 + b" use x", b"\xff\xfe \x00", b"",
        f"5 use ../../cards/{name(1)}".encode(), f"5 drop {name(1)}".encode(), f"5 use {name(1)}.kv".encode(),
        f"5 use {name(1)}@".encode(), f"5 use  {name(1)}".encode(), b"5 use " + b" ".join([name(1).encode()] * 513),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_line_that_does_not_fit_ends_the_log_and_is_counted(volume: Volume, line: bytes) -> None:
    root, now = volume.root(), int(time.time())
    root.put("a", "b", mtime=now - 5000)
    good = [f"{now - 5} use {name(x)}\n".encode() for x in "ab"]
    log = root.raw_log(good[0] + line + b"\n" + good[1])
    keeper = volume.keeper()
    keeper.round()
    found = keeper.x.table.of()[0]
    assert sorted(use for _, use, _, _ in found.rows()) == [now - 5000, now - 5]
    assert keeper.x.counts.logs["retail", "bad"] == 1
    assert not log.exists()


def test_half_a_last_line_is_left_out(volume: Volume) -> None:
    now = 1_800_000_000
    whole = f"{now} use {name(1)}\n"
    parsed = uses.parse((whole + f"{now} use {name(2)}").encode(), now, now)
    assert [e.names for e in parsed.entries] == [(name(1),)]
    assert not parsed.bad


def test_a_writer_whose_clock_is_off_is_set_right_by_its_file(volume: Volume) -> None:
    now = 1_800_000_000
    lines = f"{now + 7200} use {name(1)}\n{now + 7230} use {name(2)}\n"
    parsed = uses.parse(lines.encode(), now - 10, now)
    assert parsed.skewed
    assert [e.when for e in parsed.entries] == [now - 40, now - 10]
    behind = uses.parse(f"{now - 7200} use {name(1)}\n".encode(), now - 10, now)
    assert [e.when for e in behind.entries] == [now - 10]


def test_no_use_is_later_than_now(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("a", mtime=now - 5000)
    root.log(now + 300, "use", "a", mtime=now + 300)
    keeper = volume.keeper()
    keeper.round()
    assert next(keeper.x.table.of()[0].rows())[1] <= keeper.x.clock.now()


def test_a_log_larger_than_the_bound_is_read_as_far_as_it_goes(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uses, "MOST_BYTES", 200)
    root, now = volume.root(), int(time.time())
    root.put("a", "b", mtime=now - 5000)
    log = root.raw_log(f"{now - 5} use {name('a')}\n".encode() + f"{now - 4} use {name('b')}\n".encode() * 10)
    keeper = volume.keeper()
    keeper.round()
    assert sorted(r[1] for r in keeper.x.table.of()[0].rows()) == [now - 5, now - 4]
    assert keeper.x.counts.logs["retail", "large"] == 1
    assert not log.exists()


def test_what_a_put_names_counts_before_the_next_sweep(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("a", mtime=now - 100)
    keeper = volume.keeper(quota=10 * BLOCK)
    keeper.round()
    root.put(*range(9), mtime=now - 50)
    root.log(now, "put", *range(9))
    keeper._begin()
    keeper._read_logs()
    assert keeper.x.table.objects == 10
    keeper._remove(60)
    assert len(root.there("a", *range(9))) == 7
    # The end of the chain goes first; the object without a use is older than all of it.
    assert root.there("a", *range(9)) == list(range(7))


def test_a_name_without_a_file_makes_no_object(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("a")
    keeper = volume.keeper()
    keeper.round()
    root.log(now, "put", "a", "missing", "b")
    keeper.round()
    assert keeper.x.table.objects == 1


def test_neither_links_nor_fifos_nor_folders_are_read_as_logs(volume: Volume, tmp_path: Path) -> None:
    root, now = volume.root(), int(time.time())
    root.put("a", mtime=now - 5000)
    outside = tmp_path / "outside.log"
    outside.write_text(f"{now} use {name('a')}\n")
    folder = root.path / "use" / "engine-0.0a1b2c3d"
    folder.mkdir(parents=True)
    (folder / "0.log").symlink_to(outside)
    os.mkfifo(folder / "1.log")
    (folder / "2.log").mkdir()
    (root.path / "use" / "engine-1.0a1b2c3d").symlink_to(tmp_path)
    keeper = volume.keeper()
    keeper.round()
    assert next(keeper.x.table.of()[0].rows())[1] == now - 5000
    assert outside.read_text() == f"{now} use {name('a')}\n"


def test_a_log_that_changed_after_it_was_read_is_not_removed(volume: Volume) -> None:
    root, now = volume.root(), int(time.time())
    root.put("a", "b", mtime=now - 5000)
    log = root.log(now - 5, "use", "a")
    keeper = volume.keeper()
    keeper._begin()
    for _ in keeper.sweep.steps():
        pass
    keeper._read_logs()
    with log.open("a") as file:
        file.write(f"{now - 4} use {name('b')}\n")
    keeper.settle()
    assert log.exists()
    keeper.round()
    assert not log.exists()
    assert sorted(r[1] for r in keeper.x.table.of()[0].rows()) == [now - 5, now - 4]


def test_directories_of_dead_writers_go_when_they_are_empty(volume: Volume) -> None:
    root, now = volume.root(), time.time()
    root.put("a")
    log = root.log(now, "use", "a")
    keeper = volume.keeper()
    keeper.round()
    assert log.parent.exists()
    clock(keeper).advance(1000)
    keeper.round()
    assert not log.parent.exists()
    assert cleaned(keeper, "log") == 1


def test_names_of_the_format_are_the_adapters() -> None:
    for text in (
        name(1),
        paths.object_name(b"\x01\x02", 5, 10, "a b/@"),
        paths.object_name(b"\x01\x02", 5, 0, "x" * 200),
    ):
        assert layout.is_key(text)
    for text in ("", "abc@00000001@0", "0102@1@0", "0102@00000001@00", "0102@00000001@0@%41", "0102@00000001@0\n"):
        assert not layout.is_key(text)
