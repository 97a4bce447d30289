"""Does the cluster answer, and are its nodes ready?"""

from __future__ import annotations

import time
from pathlib import Path

import urllib3
from kubernetes.client.exceptions import ApiException

from .. import kube


def wait_ready(kubeconfig: Path, nodes: int, timeout_s: float) -> bool:
    """Wait until `nodes` nodes are Ready; False when that does not happen within `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while True:
        if _ready(kubeconfig) >= nodes:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(1)


def _ready(kubeconfig: Path) -> int:
    try:
        items = kube.core(kubeconfig).list_node(_request_timeout=5).items
    except (ApiException, urllib3.exceptions.HTTPError, OSError):
        return 0
    return sum(
        any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions or [])
        for node in items
    )
