"""`make bench`: what it asks the verb for, and that it ends with a plain word where there is no demo."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from local_cluster import bench
from local_cluster.problem import Problem
from tiered_kv_cache.__main__ import _parser
from tiered_kv_cache.bench import replay, settings, texts_settings


def test_the_command_line_is_one_of_the_verb() -> None:
    args = _parser().parse_args(bench.arguments(Path("/k"), {}))
    parsed = settings.parse(args)
    assert (parsed.variant, args.out, parsed.concurrency[-1]) == ("demo", "bench-result/demo", 8)
    # With the minute that what was begun may still take.
    assert parsed.budget + 60 <= 15 * 60
    assert len(replay.read(parsed.conversations)) == 6


def test_what_the_environment_says() -> None:
    words = {"VARIANT": "no-l2", "BUDGET": "60", "OUT": ""}
    args = _parser().parse_args(bench.arguments(Path("/k"), words))
    assert (args.variant, args.budget, args.out) == ("no-l2", 60, "bench-result/no-l2")


def test_the_text_check() -> None:
    args = _parser().parse_args(bench.text_arguments(Path("/k"), {"AT_ONCE": "1,8", "PROMPTS": ""}))
    parsed = texts_settings.parse(args)
    assert (parsed.prompts, parsed.at_once, args.out) == (200, (1, 8), "bench-result/texts")


def test_no_demo(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no demo in the cluster to measure"):
        bench.run(SimpleNamespace(kubeconfig=tmp_path / "none"), bench.arguments)
