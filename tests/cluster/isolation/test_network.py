"""A Pod that wears another line of business's labels reaches nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ..api import wait_for
from ..driver import python_pod
from .conftest import Tenant

TRY = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()
    print("reached")
except OSError as err:
    print(type(err).__name__)
"""


def _router(tenant: Tenant) -> dict[str, str]:
    """Labels by which its engines know their router."""
    return {
        "app.kubernetes.io/name": "tiered-kv-cache",
        "app.kubernetes.io/instance": tenant.helm.release,
        "app.kubernetes.io/component": "router",
        "tiered-kv-cache.io/model": tenant.engines.model,
        "tiered-kv-cache.io/line-of-business": tenant.name,
        "client-of": tenant.name,
    }


@contextmanager
def _stranger(at: Tenant, labels: dict[str, str], image: str) -> Iterator[str]:
    """A Pod in a tenant's namespace with these labels, which sleeps."""
    api, name = at.engines.api, "stranger"
    body = python_pod(name, ["-c", "import time; time.sleep(3600)"], image)
    body["metadata"]["labels"] = labels
    # Never Ready: what wears a router's labels must get none of its requests.
    body["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["false"]}}
    body["spec"]["containers"][0]["volumeMounts"] = []
    body["spec"]["volumes"] = []
    api.core.create_namespaced_pod(at.helm.namespace, body)
    try:
        wait_for("the stranger runs", lambda: _running(at, name), 120)
        yield name
    finally:
        api.remove_pod(at.helm.namespace, name)


def _running(at: Tenant, name: str) -> bool:
    return bool(at.engines.api.core.read_namespaced_pod(name, at.helm.namespace).status.phase == "Running")


def _tries(at: Tenant, pod: str, address: str, port: int) -> str:
    return at.engines.api.run(at.helm.namespace, pod, "script", ["python", "-c", TRY, address, str(port)]).strip()


def _router_address(tenant: Tenant) -> str:
    service = tenant.engines.api.core.read_namespaced_service(f"iso-{tenant.engines.model}", tenant.helm.namespace)
    return str(service.spec.cluster_ip)


@pytest.fixture
def image(images: dict[str, str]) -> str:
    return images["hooks"]


def test_forged_labels_reach_nothing_of_another_namespace(tenants: list[Tenant], image: str) -> None:
    first, second = tenants
    with _stranger(second, _router(first), image) as pod:
        for port in (8000, 8180):
            assert _tries(second, pod, first.pod().status.pod_ip, port) != "reached", f"engine's port {port}"
        assert _tries(second, pod, _router_address(first), 80) != "reached", "router"


def test_the_same_pod_in_its_own_namespace_does(tenants: list[Tenant], image: str) -> None:
    """The control: it is the policy that stops the other one, and a namespace is what it trusts."""
    first = tenants[0]
    with _stranger(first, _router(first), image) as pod:
        wait_for("the router's way in", lambda: _tries(first, pod, first.pod().status.pod_ip, 8000) == "reached", 60)
        assert _tries(first, pod, first.pod().status.pod_ip, 8180) != "reached", "LMCache's port is verify's alone"
        wait_for("the clients' way in", lambda: _tries(first, pod, _router_address(first), 80) == "reached", 60)


def test_an_engine_of_one_reaches_nothing_of_the_other(tenants: list[Tenant]) -> None:
    for tenant, other in (tenants, tenants[::-1]):
        for address, port in (
            (other.pod().status.pod_ip, 8000),
            (other.pod().status.pod_ip, 8180),
            (_router_address(other), 80),
        ):
            script = ["python3", "-c", TRY, address, str(port)]
            said = tenant.engines.api.run(tenant.helm.namespace, tenant.pod().metadata.name, "vllm", script)
            assert said.strip() != "reached", (tenant.name, address, port)
