"""Strategy roundrobin: where requests land."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from router.stack import Stack

REQUESTS = 120


@pytest.mark.parametrize("stream", [False, True])
def test_even_within_a_tenth(stack: Callable[..., Stack], stream: bool) -> None:
    running = stack("roundrobin", engines=3)
    for number in range(REQUESTS):
        running.complete(f"request {number}", stream)
    fair = REQUESTS / 3
    assert all(abs(count - fair) <= fair / 10 for count in running.counts()), running.counts()


def test_engines_with_ipv6_addresses(stack: Callable[..., Stack]) -> None:
    """OC-04: the router builds a URL with brackets from a Pod's address."""
    running = stack("roundrobin", engines=1)
    engine = running.add_engine("::1")
    running.wait_workers()
    assert running.complete("x") is not running.complete("x")
    assert len(engine.seen) == 1
