"""The mechanism `webhook`: the real server process on loopback, called by the API server over the name of its Service."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
from cryptography import x509

from ports import free_ports
from scheduling.api import Api, Json
from scheduling.processes import Processes
from tiered_kv_cache.patch import renewal
from tiered_kv_cache.patch.certificate import hosts
from tiered_kv_cache.patch.kube import encoded

from .apiserver import SYSTEM
from .mechanism import Place
from .mount import Mount

NAME, SERVICE = "l2-patch.tiered-kv-cache.io", "l2-patch"
SECRET = "l2-patch-tls"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SERVED = ("tls.crt", "tls.key")


class Server:
    """A server process.

    Args:
        processes: what starts it.
        folder: for its two mounts.
    """

    missing: tuple[str, ...] = ()

    def __init__(self, processes: Processes, folder: Path) -> None:
        self._processes = processes
        self._parameters, self._certificate = Mount(folder / "parameters"), Mount(folder / "certificate")
        self.port, self._health = free_ports(2)

    def start(self, drain_s: int = 0) -> None:
        """Start it, and wait until it is ready. `drain_s`: how long it goes on after SIGTERM."""
        self._processes.start("webhook", [
            sys.executable, "-m", "tiered_kv_cache", "l2-patch", "serve", f"--parameters={self._parameters.path}",
            f"--certificate={self._certificate.path}", f"--port={self.port}", f"--health-port={self._health}", f"--drain={drain_s}",
        ])  # fmt: skip
        self._processes.wait_for("webhook", self.ready, timeout_s=120)

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        return self._processes.end("webhook")

    def ask_to_leave(self) -> None:
        """SIGTERM; it goes on for a while."""
        os.kill(self.pid, signal.SIGTERM)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._processes.pid("webhook")

    def shown(self) -> x509.Certificate:
        """The certificate of a new connection."""
        return x509.load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", self.port)).encode())

    def ready(self) -> bool:
        """Whether its readiness probe succeeds."""
        try:
            return self.page("/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def page(self, path: str) -> httpx.Response:
        """One of the pages for probes and Prometheus."""
        return httpx.get(f"http://127.0.0.1:{self._health}{path}", timeout=5, trust_env=False)

    def parameters(self, data: dict[str, str] | None) -> None:
        """See Mechanism: it looks at each request."""
        if data is None:
            self._parameters.remove()
        else:
            self._parameters.write({key: text.encode() for key, text in data.items()})

    def certificate(self, secret: dict[str, bytes]) -> None:
        """What the kubelet would bring into the Pod."""
        self._certificate.write({key: secret[key] for key in SERVED})


def configuration(port: int, bundle: bytes, namespaces: Sequence[str], revision: str = "") -> Json:
    """The MutatingWebhookConfiguration of a release."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{
            "name": NAME,
            "clientConfig": {
                "service": {
                    "namespace": SYSTEM, "name": SERVICE, "port": port, "path": f"/pods/{revision}".rstrip("/"),
                },
                "caBundle": encoded(bundle),
            },
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "Namespaced"}],
            "namespaceSelector": {
                "matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(namespaces)},
                    {
                        "key": "kubernetes.io/metadata.name", "operator": "NotIn",
                        "values": ["kube-system", "kube-public", "kube-node-lease", SYSTEM],
                    },
                ]
            },
            "objectSelector": {
                "matchLabels": {"deploying-service": "hyperpod-inference"},
                "matchExpressions": [{"key": "app", "operator": "Exists"}],
            },
            "failurePolicy": "Fail", "matchPolicy": "Equivalent", "reinvocationPolicy": "IfNeeded", "sideEffects": "None",
            # The chart's is 5: here a busy machine must not look like a webhook that is away.
            "timeoutSeconds": 30, "admissionReviewVersions": ["v1"],
        }],
    }  # fmt: skip


def service(api: Api) -> None:
    """The Service leads to this machine: the API server looks it up and checks its name in the certificate, as ever."""
    api.apply({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": SYSTEM},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    })  # fmt: skip


@contextmanager
def serving(place: Place) -> Iterator[Server]:
    """A server that is called for the place's namespaces; without a parameter object."""
    plan = renewal.plan({}, b"", hosts(SERVICE, SYSTEM), datetime.now(UTC))
    server = Server(place.processes, place.folder)
    server.certificate(plan.secret)
    server.start()
    api = place.plane.api
    service(api)
    api.apply(configuration(server.port, plan.bundle, place.namespaces))
    try:
        yield server
    finally:
        api.delete(f"{CONFIGURATIONS}/{NAME}")
        server.stop()


def certificate(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`l2-patch certificate` as its Job runs it."""
    command = [
        sys.executable, "-m", "tiered_kv_cache", "l2-patch", "certificate", f"--namespace={SYSTEM}", f"--secret={SECRET}",
        f"--service={SERVICE}", f"--webhook={NAME}", f"--kubeconfig={kubeconfig}", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), timeout=600)
