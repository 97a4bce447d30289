"""A webhook's server in this process, and certificates for it."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from patch.cases.model import BASE
from patch.mount import Mount
from tiered_kv_cache.patch import renewal
from tiered_kv_cache.patch.https import HttpsServer
from tiered_kv_cache.patch.serve import Webhook

HOSTS = ["localhost"]


@dataclass
class Served:
    """A server that runs, and what it reads."""

    webhook: Webhook
    server: HttpsServer
    parameters: Mount
    certificate: Mount
    bundle: bytes

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def show(self, plan: renewal.Plan) -> None:
        """Another certificate."""
        self.certificate.write({key: plan.secret[key] for key in ("tls.crt", "tls.key")})
        self.bundle = plan.bundle

    def client(self) -> httpx.Client:
        """One that checks the certificate."""
        context = ssl.create_default_context(cadata=self.bundle.decode())
        return httpx.Client(base_url=f"https://localhost:{self.port}", verify=context, trust_env=False, timeout=20)


def new() -> renewal.Plan:
    """Certificates that begin now."""
    return renewal.plan({}, b"", HOSTS, datetime.now(UTC))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server with parameters and certificate."""
    parameters, certificate = Mount(tmp_path / "parameters"), Mount(tmp_path / "certificate")
    parameters.write({f"ns.{key}": text.encode() for key, text in BASE.items()})
    webhook = Webhook(parameters.path, certificate.path)
    server = HttpsServer(0, webhook.certificate, webhook.handle, webhook.leaving)
    found = Served(webhook, server, parameters, certificate, b"")
    found.show(new())
    server.start()
    yield found
    threading.Thread(target=server.drain, args=(0,)).start()
