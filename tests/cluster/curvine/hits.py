"""Blocks that one engine's Pod stores in the pool and another one reads, and where they lie."""

from __future__ import annotations

from collections.abc import Callable

from kubernetes import client

from ..api import Api, wait_for
from ..engines import CHUNK, Engines, prompt_of
from .names import DISK

TOKENS = 3 * CHUNK


def cross_pod_hit(engines: Engines, first: client.V1Pod, second: client.V1Pod, label: str = "pool") -> None:
    """The first computes, the second takes it from L2, with the same text. They must be on two nodes."""
    assert first.spec.node_name != second.spec.node_name
    prompt = prompt_of(label, TOKENS + 20)
    cold = engines.ask(first, prompt)
    wait_for("a hit through the pool", lambda: l2_hit(engines, second, prompt, cold.text), 60)


def l2_hit(engines: Engines, pod: client.V1Pod, prompt: list[int], text: str) -> bool:
    """Whether a Pod whose other tiers are empty takes all of it from L2. Raises AssertionError for another text."""
    engines.clear_l0(pod)
    engines.clear_l1(pod)
    answer, counted = engines.hits(pod, prompt)
    assert answer.text == text
    return counted.l2 >= len(prompt) // CHUNK * CHUNK


def mount_at(api: Api, pod: client.V1Pod, point: str) -> str:
    """The line of the kernel's table for a place in an engine's Pod."""
    table = api.run(pod.metadata.namespace, pod.metadata.name, "lmcache", ["cat", "/proc/self/mountinfo"])
    (mount,) = [line for line in table.splitlines() if line.split()[4] == point]
    return mount


def on_disks(nodes: Callable[..., str], workers: list[str]) -> int:
    """Bytes of the pool on all workers' disks."""
    return sum(int(nodes(node, "du", "-s", "--block-size=1", f"{DISK}/kv").split()[0]) for node in workers)
