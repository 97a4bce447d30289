"""The judges of these tests can say no: a tier that does not check is found out."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from faultfs.daemon import FaultFs
from tiered_kv_cache.l2 import format, paths

from . import objects, worker
from .run import PATIENT, damage

CHAIN = objects.CHAIN_NAMES[0]


def test_a_tier_without_checksums_returns_wrong_bytes_and_is_found_out(
    fault_fs: FaultFs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(format, "fold", lambda digests: len(list(digests)))
    report = worker.Report(tmp_path / "report")
    tier = worker.tier_of(fault_fs.mount / objects.FOLDER, "pod", random.Random(0), **PATIENT)
    try:
        worker.store(tier, CHAIN, report)
        with (fault_fs.backing / objects.FOLDER / paths.object_path(CHAIN[0])).open("rb+") as file:
            file.seek(format.HEADER)
            file.write(bytes([objects.payload(CHAIN[0])[0] ^ 1]))
        worker.load(tier, CHAIN, report, worker.Quarantine(report))
    finally:
        tier.close()
    said = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
    assert said == [{"wrong": "wrong bytes were returned", "name": CHAIN[0], "first": 0}]


def test_a_late_write_is_found_out(tmp_path: Path) -> None:
    report = worker.Report(tmp_path / "report")
    quarantine, buffer = worker.Quarantine(report), bytearray(1000)
    quarantine.add("name", buffer, 17)
    buffer[999] = 18
    quarantine.check()
    assert json.loads((tmp_path / "report").read_text())["wrong"] == "memory was written after its task was reported"


def test_a_scan_names_each_kind_of_file(tmp_path: Path) -> None:
    header = format.Header(
        CHAIN[0], objects.SIZE, format.payload_checksum(objects.payload(CHAIN[0])), objects.LAYOUT, 1
    )
    for name in CHAIN[:2]:
        path = tmp_path / paths.object_path(name)
        path.parent.mkdir(parents=True)
        path.write_bytes(format.encode_header(header) + objects.payload(CHAIN[0]))
    for place in ("tmp/pod.00000001/1.tmp", "use/pod.00000001/1.log", "objects/aa/x"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).touch()
    found = objects.scan(tmp_path)
    # The second one holds the first one's bytes under its own name.
    assert (found.good, found.bad) == ({CHAIN[0]}, {CHAIN[1]: "payload"})
    assert (found.temporary, found.strange) == (["tmp/pod.00000001/1.tmp"], ["objects/aa/x"])


def test_damage_is_seen_by_the_scan(tmp_path: Path) -> None:
    header = format.Header(
        CHAIN[0], objects.SIZE, format.payload_checksum(objects.payload(CHAIN[0])), objects.LAYOUT, 1
    )
    path = tmp_path / paths.object_path(CHAIN[0])
    path.parent.mkdir(parents=True)
    for seed in range(12):
        path.write_bytes(format.encode_header(header) + objects.payload(CHAIN[0]))
        damage(path, random.Random(seed))
        assert objects.scan(tmp_path).bad.keys() == {CHAIN[0]}, seed
