"""Settings, breaker, metrics: the parts that hold no object."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tiered_kv_cache.l2 import config, listing, paths
from tiered_kv_cache.l2.breaker import Breaker
from tiered_kv_cache.l2.metrics import Metrics

from .tiers import bench, name


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(config.SettingsError) as err:
        config.parse(
            {
                "base_path": "../x",
                "pod": "A/B",
                "stall_ms": "1",
                "load_threads": 0,
                "fsync": "all",
                "direct_io": 1,
                "speed": 9,
            }
        )
    lines = str(err.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "speed", "base_path", "pod", "stall_ms", "load_threads", "direct_io", "fsync"
    ]  # fmt: skip
    assert all("Fix: " in line for line in lines)
    assert "'../x'" in lines[1] and "'A/B'" in lines[2] and "0 is no whole number from 1 to 64" in lines[4]


@pytest.mark.parametrize("value", [True, None, "5", float("nan"), -1, 1e9, [1]])
def test_numbers_are_numbers(value: object) -> None:
    with pytest.raises(config.SettingsError, match="stall_ms"):
        config.parse({"base_path": "/x", "pod": "p", "stall_ms": value})


def test_defaults_and_the_pods_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "tiny-0")
    settings = config.parse({"base_path": "/l2/v1/lob/tiny/0123/", "load_threads": 3, "stall_ms": 99})
    assert settings == config.Settings("/l2/v1/lob/tiny/0123", "tiny-0", load_threads=3, stall_ms=99.0)


def test_help_names_every_parameter() -> None:
    text = config.describe()
    for field in dataclasses.fields(config.Settings):
        assert f"- {field.name} (" in text


def test_the_documentation_names_every_parameter_with_its_default() -> None:
    text = (Path(__file__).parents[3] / "docs" / "l2.md").read_text()
    for field in dataclasses.fields(config.Settings):
        if field.default is dataclasses.MISSING:
            assert f"| `{field.name}` |" in text
        else:
            shown = str(field.default).lower() if isinstance(field.default, bool | str) else f"{field.default:g}"
            assert f"| `{field.name}` | {shown} |" in text, f"{field.name} {shown}"


def test_the_documentation_names_every_metric() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    text = (Path(__file__).parents[3] / "docs" / "l2.md").read_text()
    found = {family.name for family in registry.collect()}
    assert len(found) >= 12
    for metric in found:
        assert f"`{metric}" in text, metric


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def a_breaker(clock: Clock, opened: list[tuple[str, str]]) -> Breaker:
    return Breaker(
        "read",
        errors=3,
        window=10.0,
        probe_interval=1.0,
        longest_interval=4.0,
        on_open=lambda name, cause: opened.append((name, cause)),
        clock=clock,
    )


def test_breaker_opens_on_half_of_the_answers_within_the_window() -> None:
    clock, opened = Clock(), list[tuple[str, str]]()
    breaker = a_breaker(clock, opened)
    breaker.failed("EIO")
    breaker.failed("EIO")
    clock.now = 10.5
    breaker.failed("EIO")
    assert not breaker.is_open, "the first two are too old"
    for _ in range(10):
        breaker.ok()
    for _ in range(8):
        breaker.failed("EIO")
    assert not breaker.is_open, "9 of 19"
    breaker.failed("deadline")
    assert breaker.is_open and breaker.cause == "deadline"
    assert opened == [("read", "deadline")]
    breaker.trip("stall")
    assert opened == [("read", "deadline")], "open already"


def test_breaker_that_opens_again_is_probed_less_often() -> None:
    clock = Clock()
    breaker = a_breaker(clock, [])
    intervals = []
    for _ in range(4):
        clock.now += 5
        breaker.trip("stall")
        intervals.append(breaker.probe_interval)
        breaker.close()
    assert intervals == [1.0, 2.0, 4.0, 4.0]
    clock.now += 100
    breaker.trip("stall")
    assert breaker.probe_interval == 1.0


def test_gauges_are_of_the_adapters_that_live(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        b.tier.read_breaker.trip("stall")
        text = generate_latest(b.registry).decode()
        assert 'tkc_l2_breaker_open{breaker="read"} 1.0' in text
        assert 'tkc_l2_breaker_open{breaker="store"} 0.0' in text
        assert 'tkc_l2_threads_stuck{pool="load"} 0.0' in text
        assert "tkc_l2_store_queue_bytes 0.0" in text


def test_status_says_what_is_wrong(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        assert b.tier.status()["is_healthy"] is True
        b.tier.store_breaker.trip("ENOSPC")
        status = b.tier.status()
        assert status["is_healthy"] is False
        assert status["breakers"] == {"read": "closed", "store": "ENOSPC"}


def test_objects_are_listed_in_pages_and_nothing_else_is(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        b.store(*range(7), size=100)
    (b.file(0).parent / "stray.kv").write_text("x")
    (b.file(0).parent / f"{name(3)}.kv").write_text("at another one's place")
    (tmp_path / "objects" / "README").write_text("x")
    seen: list[str] = []
    after: str | None = None
    for size in (3, 3, 1):
        found = listing.page(str(tmp_path), size, after)
        assert len(found) == size
        assert all(length == 100 and paths.parse_name(n) == parsed for n, parsed, _, length in found)
        seen += [n for n, *_ in found]
        after = seen[-1]
    assert seen == sorted(name(n) for n in range(7))
    assert listing.page(str(tmp_path), 5, after) == []
    assert listing.page(str(tmp_path / "nothing"), 5, None) == []
