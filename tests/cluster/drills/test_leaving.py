"""A Pod that is not Ready, or no longer one of the release's, gets no new request, and its open streams end well."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from kubernetes import client

from ..api import wait_for
from ..driver import Traffic, traffic
from ..engines import Engines
from ..nodes import Nodes
from .conftest import Install

FORGOTTEN_S = 5
"""From the change to the moment from which no new request may come."""
REQUESTS = 60
ANSWERED = "vllm:request_success_total"


@pytest.fixture(scope="module")
def engines(install: Install) -> Engines:
    return install()


@pytest.fixture
def going(engines: Engines, images: dict[str, str]) -> Iterator[Traffic]:
    url = f"http://{engines.release}-{engines.model}.{engines.namespace}"
    with traffic(engines.api, engines.namespace, url, engines.model, images["hooks"]) as started:
        yield started


def _gets_nothing(engines: Engines, pod: client.V1Pod, going: Traffic) -> None:
    time.sleep(FORGOTTEN_S)
    # What came before may still be at work.
    wait_for("old requests answered", lambda: engines.vllm(pod).total("vllm:num_requests_running") == 0, 60)
    before = engines.vllm(pod).total(ANSWERED)
    going.at_least(int(going.last_line()["ok"]) + REQUESTS)
    assert engines.vllm(pod).total(ANSWERED) == before
    going.unharmed()


def _is_ready(engines: Engines, pod: client.V1Pod) -> bool:
    now = engines.api.core.read_namespaced_pod(pod.metadata.name, engines.namespace)
    return any(c.type == "Ready" and c.status == "True" for c in now.status.conditions)


def test_not_ready(engines: Engines, going: Traffic) -> None:
    """LMCache stands still, which vLLM's own health does not show."""
    pod, nodes = engines.ready(2)[0], Nodes()
    nodes.kill(pod, "lmcache", "SIGSTOP")
    try:
        wait_for("Pod not Ready", lambda: not _is_ready(engines, pod), 120)
        _gets_nothing(engines, pod, going)
    finally:
        nodes.kill(pod, "lmcache", "SIGCONT")
    engines.ready(2, 60)
    going.unharmed()


def test_relabelled(engines: Engines, going: Traffic) -> None:
    """Taken out for a closer look; the ReplicaSet makes another."""
    pod = engines.ready(2)[0]
    labels = {"metadata": {"labels": {"app.kubernetes.io/instance": "looked-at"}}}
    engines.api.core.patch_namespaced_pod(pod.metadata.name, engines.namespace, labels)
    try:
        _gets_nothing(engines, pod, going)
        engines.ready(2)
        going.unharmed()
    finally:
        engines.api.remove_pod(engines.namespace, pod.metadata.name)
