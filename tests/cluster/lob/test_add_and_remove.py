"""A line of business comes and goes under the traffic of another one: nobody else notices.

The platform's release changes as its lists do.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..api import Api, wait_for
from ..driver import Traffic, traffic
from .conftest import Line, Objects, Platform
from .files import FOURTH, tree
from .kept import Kept

BUSY = "assistant"
"""The one under traffic, through its gateway as its clients come."""
QUIET = ("documents", "batch")


@pytest.fixture(scope="module")
def kept(lines: dict[str, Line]) -> dict[str, Kept]:
    """Prompts that each of the three has stored."""
    return {name: Kept(line.engines, f"lob {name}") for name, line in lines.items()}


@pytest.fixture(scope="module")
def found_before(kept: dict[str, Kept]) -> dict[str, list[float]]:
    """Tokens that each takes from L2 before anything changes."""
    return {name: each.from_l2() for name, each in kept.items()}


@pytest.fixture(scope="module")
def going(
    found_before: dict[str, list[float]], lines: dict[str, Line], api: Api, images: dict[str, str]
) -> Iterator[Traffic]:
    url = f"http://{BUSY}-gateway.{BUSY}"
    with traffic(api, BUSY, url, lines[BUSY].served, images["hooks"], clients=3) as started:
        yield started


def test_each_finds_what_it_stored(kept: dict[str, Kept], found_before: dict[str, list[float]]) -> None:
    assert found_before == {name: each.tokens for name, each in kept.items()}


def test_a_fourth_comes_and_goes_under_traffic(
    going: Traffic, kept: dict[str, Kept], all_lines: dict[str, Line], platform: Platform, api: Api
) -> None:
    fourth = all_lines[FOURTH]
    lines = {name: all_lines[name] for name in kept}
    platform_before = platform.objects()
    pods = {name: line.pods() for name, line in lines.items()}
    trees = {name: tree(name) for name in QUIET}
    assert all(pods.values())
    assert all(trees.values())

    with kept[BUSY].read_all_the_time() as seen:
        platform.allow(FOURTH)
        platform_with = platform.objects()
        fourth.install()
        own = Kept(fourth.engines, "lob fourth")
        assert own.from_l2() == own.tokens
        stored = tree(FOURTH)
        assert stored

        done = fourth.helm.uninstall()
        assert done.ok, done.text
        wait_for("none of its Pods", lambda: not fourth.pods(), 240)
        # A volume of this kind is kept with what lies on it.
        assert tree(FOURTH) == stored
        assert _cluster_wide(api) == []
        platform.allow()
        # The reader has seen the state without it, too.
        enough = seen.asked + len(kept[BUSY].prompts)
        wait_for("prompts read after the removal", lambda: seen.asked >= enough, 120)

    assert seen.failed == []
    assert seen.lost == []
    going.unharmed()
    print(f"read meanwhile: {seen.asked} prompts, {seen.from_l2:.0f} tokens of them from L2", flush=True)

    assert {name: line.pods() for name, line in lines.items()} == pods
    assert {name: tree(name) for name in QUIET} == trees
    _only_its_own(platform_before, platform_with)
    assert platform.objects() == platform_before


def test_no_request_of_all_failed(going: Traffic) -> None:
    report = going.stop()
    assert report["failures"] == []
    assert report["sent"] > 0
    print(f"sent {report['sent']}, slowest {report['slowest']} s", flush=True)


def test_each_still_finds_all_of_it(
    going: Traffic, kept: dict[str, Kept], found_before: dict[str, list[float]]
) -> None:
    assert {name: each.from_l2() for name, each in kept.items()} == found_before


def _cluster_wide(api: Api) -> list[str]:
    """Objects outside of all namespaces that the fourth's release has made."""
    kinds = {
        "volume": "/api/v1/persistentvolumes",
        "role": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "binding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    }
    return [
        f"{kind} {each['metadata']['name']}"
        for kind, path in kinds.items()
        for each in api.request("GET", path).json()["items"]
        if each["metadata"]["name"].startswith(f"{FOURTH}.{FOURTH}-")
    ]


def _only_its_own(before: Objects, after: Objects) -> None:
    """Nothing went; what came is in the fourth's namespace; what changed is the patch's, which holds the list."""
    assert before.keys() <= after.keys()
    assert {namespace for _, namespace, _ in after.keys() - before.keys()} == {FOURTH}
    changed = {key for key in before if before[key] != after[key]}
    assert changed, "the platform does not know the fourth"
    others = {key for key in changed if "l2-patch" not in key[2]}
    assert not others
