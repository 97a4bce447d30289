"""The demo's engines out of the way: two pairs of engines do not fit into a small machine, and idle ones still take memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from tiered_kv_cache.verify.waiting import selector

from . import kube
from .progress import phase, say
from .settings import NAMESPACE, RELEASE

GONE_S = 120.0


@contextlib.contextmanager
def paused(kubeconfig: Path) -> Iterator[None]:
    """Scale the demo's engines to none for the block, and back afterwards, whatever happens in it."""
    apps = kube.apps(kubeconfig)
    found = apps.list_namespaced_deployment(NAMESPACE, label_selector=selector(RELEASE)).items
    before = {each.metadata.name: each.spec.replicas for each in found if each.spec.replicas}
    try:
        for name in before:
            apps.patch_namespaced_deployment_scale(name, NAMESPACE, {"spec": {"replicas": 0}})
        if before:
            with phase("pause the demo", "its engines' memory is needed; they come back at the end"):
                _wait(kubeconfig)
        yield
    finally:
        for name, replicas in before.items():
            apps.patch_namespaced_deployment_scale(name, NAMESPACE, {"spec": {"replicas": replicas}})
            say(f"  {name}: {replicas} Pods again")


def _wait(kubeconfig: Path) -> None:
    core, until = kube.core(kubeconfig), time.monotonic() + GONE_S
    while core.list_namespaced_pod(NAMESPACE, label_selector=selector(RELEASE)).items and time.monotonic() < until:
        time.sleep(1)
