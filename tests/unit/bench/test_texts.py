"""The text check against emulated engines: what passes, what is a tie, what is wrong, and when it has seen nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulators.engine import Faults
from tiered_kv_cache import __main__

from .conftest import RELEASE, Release

TIERS = ("control", "l2", "l1", "l0")


def check(out: Path, *words: str) -> tuple[int, dict[str, Any], dict[str, dict[str, Any]]]:
    """Exit code, document, and rows by tier of the first level."""
    code = __main__.main(
        ["bench", "texts", *RELEASE, "--out", str(out), "--prompts", "4", "--dtype", "float32", *words]
    )
    found = json.loads((out / "texts.json").read_text())
    rows: dict[str, dict[str, Any]] = {}
    for row in found["rows"]:
        rows.setdefault(row["tier"], row)
    return code, found, rows


def pods(connected: Release, **faults: Any) -> None:
    for name in ("pod-a", "pod-b"):
        connected.add(name, faults=Faults(**faults))


def test_equal_from_every_tier(connected: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods(connected)
    code, found, rows = check(tmp_path, "--at-once", "1,3")
    assert code == 0 and found["passed"]
    assert rows.keys() == set(TIERS) and len(found["rows"]) == 8
    for row in found["rows"]:
        assert row["counts"] == {"equal": 4, "near tie": 0, "wrong": 0, "unsure": 0}
        assert row["given"] >= row["wanted"] > 0 or row["tier"] == "control"
    assert "texts: passed" in capsys.readouterr().out


def test_wrong_blocks_are_found_and_shown(
    connected: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods(connected, wrong_blocks=True)
    code, found, rows = check(tmp_path)
    assert code == 1 and not found["passed"]
    assert rows["control"]["counts"]["equal"] == 4
    assert rows["l2"]["counts"]["wrong"] == 4
    assert {each["same"] for each in found["differences"]} == {"wrong"}
    out = capsys.readouterr().out
    assert "wrong: l2, 1 at once, 600 tokens" in out and "texts: FAILED" in out


def test_near_ties_are_no_fault(connected: Release, tmp_path: Path) -> None:
    """By the engine's type: what bfloat16 rounds away, float32 does not."""
    pods(connected, near_tie=True)
    code, _, rows = check(tmp_path, "--dtype", "bfloat16")
    assert code == 0
    assert rows["l2"]["counts"]["near tie"] == 4
    assert rows["control"]["counts"]["equal"] == 4
    code, _, rows = check(tmp_path, "--dtype", "float32", "--prompts", "1")
    assert code == 1
    assert rows["l2"]["counts"]["wrong"] == 1


@pytest.mark.parametrize("faults", [{"store": False}, {"not_connected": True}, {"load_fails": True}], ids=str)
def test_without_hits_it_has_seen_nothing(
    connected: Release, tmp_path: Path, faults: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    pods(connected, **faults)
    code, _, rows = check(tmp_path, "--prompts", "1")
    assert code == 1
    assert rows["l2"]["counts"]["equal"] == 1 and not rows["l2"]["passed"]
    assert "FAILED: no hits" in capsys.readouterr().out


def test_an_engine_that_differs_from_itself_fails_by_its_control(connected: Release, tmp_path: Path) -> None:
    pods(connected, restless=True)
    code, _, rows = check(tmp_path)
    assert code == 1
    assert not rows["control"]["passed"]


def test_without_log_probabilities_a_difference_is_unsure(connected: Release, tmp_path: Path) -> None:
    pods(connected, wrong_blocks=True, no_logprobs=True)
    code, _, rows = check(tmp_path)
    assert code == 1
    assert rows["l2"]["counts"]["unsure"] == 4


@pytest.mark.parametrize(("names", "says"), [("a", "there is one Pod only"), ("ab", "VLLM_SERVER_DEV_MODE")])
def test_what_cannot_be_checked(
    connected: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str], names: str, says: str
) -> None:
    for name in names:
        connected.add(f"pod-{name}", faults=Faults(dev_mode=False))
    assert __main__.main(["bench", "texts", *RELEASE, "--out", str(tmp_path), "--prompts", "1"]) == 2
    assert says in capsys.readouterr().err


def test_a_control_that_a_cache_served_is_none(connected: Release, tmp_path: Path) -> None:
    pods(connected, ignores_salt=True)
    code, _, rows = check(tmp_path, "--prompts", "1")
    assert code == 1
    assert not rows["control"]["passed"]


def test_bad_arguments_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--prompts", "0", "--sizes", "1.5", "--at-once", "x"]
    assert __main__.main(["bench", "texts", "--out", str(tmp_path), *words]) == 2
    said = capsys.readouterr().err
    for part in ("--namespace and --release", "--prompts is 0", "--sizes 1.5", "--at-once x"):
        assert part in said
