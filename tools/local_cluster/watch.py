"""Say what the Pods of a namespace are doing while something waits for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import urllib3
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from . import kube
from .progress import every, say

_EVERY_S = 5.0


@contextlib.contextmanager
def watching(kubeconfig: Path, namespace: str) -> Iterator[None]:
    """Print a line whenever a Pod's state changes, until the block ends."""
    seen: dict[str, str] = {}
    core = kube.core(kubeconfig)

    def look() -> None:
        with contextlib.suppress(ApiException, urllib3.exceptions.HTTPError, OSError):
            for pod in core.list_namespaced_pod(namespace, _request_timeout=5).items:
                state = describe(pod)
                if seen.get(pod.metadata.name) != state:
                    seen[pod.metadata.name] = state
                    say(f"  {pod.metadata.name}: {state}")

    with every(_EVERY_S, look):
        yield


def describe(pod: client.V1Pod) -> str:
    """One line on a Pod: which containers wait for what."""
    parts = []
    for status in [*(pod.status.init_container_statuses or []), *(pod.status.container_statuses or [])]:
        waiting, ended = status.state.waiting, status.state.terminated
        if waiting:
            parts.append(f"{status.name} {waiting.reason}")
        elif ended and ended.exit_code:
            parts.append(f"{status.name} failed (exit {ended.exit_code})")
        elif not ended:
            parts.append(f"{status.name} {'ready' if status.ready else 'starting'}")
    return f"{pod.status.phase}" + (f" ({', '.join(parts)})" if parts else "")
