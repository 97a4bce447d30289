"""What a pool holds outlives an upgrade of its parts, an uninstall, and the install behind it; nothing is ever formatted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import wait_for
from ..engines import CHUNK, Engines, prompt_of
from .conftest import Install, Release
from .hits import l2_hit
from .names import DISK
from .parts import Pool

PARTS = ("masters", "workers", "client")


def _hits(engines: Engines, prompt: list[int], text: str) -> Callable[[], bool]:
    """Whether the only engine takes all of a prompt from L2, with the same text."""
    return lambda: l2_hit(engines, engines.pods()[0], prompt, text)


def test_upgrade_and_new_install(
    new_pool: Install, release: Release, pool: Pool, nodes: Callable[..., str], workers: list[str]
) -> None:
    engines = new_pool(replicas=1)
    prompt = prompt_of("kept", 4 * CHUNK + 9)
    answer = engines.fill(engines.pods()[0], prompt)
    claims, disks = release.claims(), _identities(nodes, workers)
    assert (len(claims), len(disks)) == (1, 2)

    # Another setting of every part: each is replaced.
    old = {part: {pod.metadata.name: pod.metadata.uid for pod in pool.pods(part)} for part in PARTS}
    changed: dict[str, Any] = {"curvine": {"logLevel": "warn", "config": {"client": {"rpc_timeout_ms": 4000}}}}
    engines = release.apply(replicas=1, **changed)
    for part in PARTS:
        pool.rolled_out(part)
        assert not {pod.metadata.uid for pod in pool.pods(part)} & set(old[part].values()), f"{part}: not replaced"
    wait_for("a hit after the upgrade", _hits(engines, prompt, answer.text), 60)

    release.uninstall()
    assert release.claims() == claims, "the masters' claims are the list of all files"
    engines = release.apply(replicas=1)
    wait_for("a hit after the new install", _hits(engines, prompt, answer.text), 60)
    assert (release.claims(), _identities(nodes, workers)) == (claims, disks)

    # A group without its list of files beside disks that still hold blocks: cleanly empty, and it works.
    release.uninstall()
    release.forget_masters()
    engines = release.apply(replicas=1)
    (pod,) = engines.pods()
    before = engines.counters(pod)
    assert engines.ask(pod, prompt).text == answer.text
    assert engines.counters(pod).since(before).l2 == 0
    wait_for("a hit in the new pool", _hits(engines, prompt, answer.text), 60)


def _identities(nodes: Callable[..., str], workers: list[str]) -> dict[str, str]:
    """What each worker's disk is known by: the directories that the worker made at its first start, and when."""
    script = f"find {DISK}/kv -mindepth 1 -maxdepth 2 -type d -printf '%p %i\\n' | sort"
    return {node: nodes(node, "sh", "-c", script) for node in workers}
