"""fetch's parts alone: claims by a clock of our own, private directories, the choice of files, progress."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_kv_cache.fetch import work as work_module
from tiered_kv_cache.fetch.choose import Unusable, needed
from tiered_kv_cache.fetch.errors import Fenced, Transient, plain
from tiered_kv_cache.fetch.lease import Claim, Claims
from tiered_kv_cache.fetch.progress import Progress, waiting
from tiered_kv_cache.fetch.remote import Listing, RemoteFile
from tiered_kv_cache.fetch.spec import HubSource, Job, S3Source
from tiered_kv_cache.fetch.store import Place
from tiered_kv_cache.fetch.work import Work, synced

LEASE = 60.0


class Clock:
    """Time that passes when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def job(tmp_path: Path, owner: str) -> Job:
    return Job("tiny", HubSource("org/model", "a" * 40), tmp_path, owner, f"pod-{owner}", lease_seconds=LEASE)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def control(tmp_path: Path) -> Path:
    return tmp_path / "control"


def claims(control: Path, owner: str, clock: Clock) -> Claims:
    return Claims(control, job(control.parent, owner), clock)


def took(found: Claim | dict[str, Any]) -> Claim:
    assert isinstance(found, Claim)
    return found


def waits(found: Claim | dict[str, Any]) -> dict[str, Any]:
    assert isinstance(found, dict)
    return found


def test_the_first_writes_and_the_others_hear_of_it(control: Path, clock: Clock) -> None:
    first = took(claims(control, "a", clock).take())
    with first:
        first.tell = lambda: {"done": 3, "total": 10}
        first.check()
        said = waits(claims(control, "b", clock).take())
    assert (said["pod"], said["done"], said["total"], said["silent"]) == ("pod-a", 3, 10, 0)


def test_taken_over_after_silence_by_ones_own_clock_only(control: Path, clock: Clock) -> None:
    with took(claims(control, "a", clock).take()) as first:
        other = claims(control, "b", clock)
        for _ in range(10):
            clock.now += LEASE / 2
            first.check()
            waits(other.take())
        clock.now += LEASE - 1
        assert waits(other.take())["silent"] == LEASE - 1
        clock.now += 2
        second = took(other.take())
        assert (second.number, second.alone, second.taken_over) == (1, False, True)
        with pytest.raises(Fenced):
            first.check()
        assert first.lost.is_set()
        # One who comes now begins to count anew: it has not seen the silence.
        waits(claims(control, "c", clock).take())


def test_a_claim_without_a_beat_is_taken_over_too(control: Path, clock: Clock) -> None:
    """Its maker died between making the directory and the first beat."""
    (control / "claim-0").mkdir(parents=True)
    other = claims(control, "b", clock)
    waits(other.take())
    clock.now += LEASE + 1
    assert took(other.take()).number == 1


def test_only_one_takes_over(control: Path, clock: Clock) -> None:
    (control / "claim-0").mkdir(parents=True)
    others = [claims(control, name, clock) for name in "bcd"]
    for each in others:
        waits(each.take())
    clock.now += LEASE + 1
    taken = [each.take() for each in others]
    assert [isinstance(each, Claim) for each in taken] == [True, False, False]


def test_released_and_own_claims_are_taken_at_once(control: Path, clock: Clock) -> None:
    with took(claims(control, "a", clock).take()) as first:
        first.release()
    second = took(claims(control, "b", clock).take())
    with second:
        pass
    third = took(claims(control, "b", clock).take())
    assert [(c.number, c.alone) for c in (second, third)] == [(1, True), (2, True)]


def test_a_late_beat_does_not_take_a_released_claim_back(control: Path, clock: Clock) -> None:
    with took(claims(control, "a", clock).take()) as first:
        first.release()
        with pytest.raises(Fenced):
            first.check()
    assert took(claims(control, "b", clock).take()).number == 1


def test_one_directory_given_to_two(control: Path, clock: Clock) -> None:
    """A filesystem on which mkdir is not exclusive: the beat's file decides."""
    claim = took(claims(control, "a", clock).take())
    twin = Claim(control, claim.number, job(control.parent, "b"))
    with claim, pytest.raises(Fenced), twin:
        pass


def test_a_claim_that_was_removed_is_lost(control: Path, clock: Clock) -> None:
    with took(claims(control, "a", clock).take()) as claim:
        for path in sorted(control.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        with pytest.raises(Fenced):
            claim.check()


def test_beats_go_on_by_themselves(control: Path, tmp_path: Path) -> None:
    fast = Job("m", HubSource("o/m", "a" * 40), tmp_path, "a", lease_seconds=0.3)
    with took(Claims(control, fast).take()):
        beats = set()
        for _ in range(10):
            beats.add(json.loads((control / "claim-0/beat").read_bytes() or b"{}").get("beat"))
            time.sleep(0.05)
    assert len(beats) >= 4


class FakeRemote:
    """Files of memory."""

    fixed_revision = "r"

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content, self.reads = content, list[tuple[str, int]]()

    def listing(self) -> Listing:
        return Listing("r", tuple(RemoteFile(name, len(data)) for name, data in self.content.items()))

    def read(self, file: RemoteFile, into: BinaryIO, offset: int) -> None:
        self.reads.append((file.name, offset))
        into.write(self.content[file.name][offset:])


def test_bytes_without_a_checksum_are_built_upon_only_where_they_were_written_through(
    control: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "SYNC_BYTES", 1000)
    left = control / "work-0-dead"
    (left / "sub").mkdir(parents=True)
    (left / "sub/a.part").write_bytes(b"A" * 2500)
    (left / "b").write_bytes(b"B" * 100)
    remote = FakeRemote({"sub/a": b"A" * 4000, "b": b"B" * 100, "c": b"", "d": b"D"})
    with took(claims(control, "b", clock).take()) as claim:
        work = Work(claim, remote.listing(), Progress(print))
        work.prepare()
        assert not left.exists()
        work.download(remote)
    assert sorted(remote.reads) == [("d", 0), ("sub/a", 2000)]
    assert {p.name: p.read_bytes() for p in work.path.rglob("*") if p.is_file()} == {
        "a": b"A" * 4000, "b": b"B" * 100, "c": b"", "d": b"D",
    }  # fmt: skip


@given(st.integers(0, 10**12))
def test_synced_is_a_border_before_the_end(size: int) -> None:
    assert synced(size) % work_module.SYNC_BYTES == 0
    assert size == 0 or 0 <= size - 1 - synced(size) < work_module.SYNC_BYTES


def test_a_writer_whose_directory_was_taken_makes_none_again(control: Path, clock: Clock) -> None:
    remote = FakeRemote({"sub/deeper/a": b"A" * 100})
    with took(claims(control, "a", clock).take()) as claim:
        work = Work(claim, remote.listing(), Progress(print))
        work.prepare()
        work.path.rename(control / "adopt-other-0")
        with pytest.raises(Fenced):
            work.download(remote)
        assert not work.path.exists()


def test_a_remote_that_gives_too_little(control: Path, clock: Clock) -> None:
    class Short(FakeRemote):
        def read(self, file: RemoteFile, into: BinaryIO, offset: int) -> None:
            into.write(b"A" * 10)

    remote = Short({"a": b"A" * 100})
    with took(claims(control, "a", clock).take()) as claim:
        work = Work(claim, remote.listing(), Progress(print))
        work.prepare()
        with pytest.raises(Transient, match="a has 10 bytes instead of 100"):
            work.download(remote)


def test_a_model_is_not_published_over_another_ones(tmp_path: Path) -> None:
    place = Place(job(tmp_path, "a"), "a" * 40)
    listing = Listing("a" * 40, (RemoteFile("config.json", 2),))
    for name in ("one", "two"):
        folder = place.base / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        place.mark(folder, listing)
    assert place.publish(place.base / "one")
    assert not place.publish(place.base / "two")
    assert place.whole()
    with pytest.raises(FileNotFoundError):
        place.publish(place.base / "nothing")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ("config.json model.safetensors pytorch_model.bin", "config.json model.safetensors"),
        (
            "config.json pytorch_model.bin training_args.bin tokenizer.model",
            "config.json pytorch_model.bin tokenizer.model",
        ),
        ("config.json consolidated.safetensors model.safetensors params.json", "config.json model.safetensors"),
        ("params.json consolidated.safetensors tekken.json", "consolidated.safetensors params.json tekken.json"),
        (
            "config.json m.safetensors onnx/model.json original/params.json 1_Pooling/config.json",
            "1_Pooling/config.json config.json m.safetensors",
        ),
        (
            "config.json m.safetensors pytorch_model.bin.index.json modeling_x.py merges.txt a.png LICENSE",
            "config.json m.safetensors merges.txt modeling_x.py",
        ),
        ("config.json m.safetensors .cache/x.json a/../b.json /etc/x.json", "config.json m.safetensors"),
    ],
)
def test_needed_files(files: str, expected: str) -> None:
    assert needed(files.split()) == sorted(expected.split())


@pytest.mark.parametrize(
    "files", ["", "model.safetensors", "config.json", "config.json model.onnx", "sub/config.json m.safetensors"]
)
def test_unusable_folders(files: str) -> None:
    with pytest.raises(Unusable):
        needed(files.split())


def test_progress(clock: Clock) -> None:
    progress = Progress(print, clock)
    progress.begin(10 << 30, 1 << 30)
    assert progress.line() == "downloading: 1.0 GiB of 10.0 GiB (10 %)"
    clock.now += 10
    progress.add(1 << 30)
    assert progress.line() == "downloading: 2.0 GiB of 10.0 GiB (20 %), 102 MiB/s, 80 s left"
    for _ in range(5):
        clock.now += 10
        line = progress.line()
    assert line == "downloading: 2.0 GiB of 10.0 GiB (20 %), nothing came in the last 30 s"
    progress.add(8 << 30)
    assert progress.line().endswith("10.0 GiB of 10.0 GiB (100 %), checking")


def test_waiting() -> None:
    assert waiting({}, 90) == "waiting: another Pod downloads the model"
    said = {"pod": "tiny-x", "done": 512, "total": 1024, "silent": 50}
    text = "waiting: Pod tiny-x downloads the model, 512 B of 1 KiB (50 %); no sign of life for 50 s, taken over after 90 s"
    assert waiting(said, 90) == text


def test_signed_urls_lose_their_signature() -> None:
    assert plain("at https://cdn/x?Signature=abc&b=c : no\nanswer.") == "at https://cdn/x : no answer"


def test_places_differ() -> None:
    places = [
        HubSource("a/b", "c" * 40).place,
        S3Source("bucket", "p").place,
        S3Source("bucket", "p2").place,
        S3Source("bucket", "p", endpoint="http://other").place,
        S3Source("bucket2", "p").place,
    ]
    assert len(set(places)) == len(places)
    assert (
        S3Source("bucket", "p/", endpoint="http://other/").place
        == S3Source("bucket", "p", endpoint="http://other").place
    )
