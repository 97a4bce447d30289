"""Two lines of business with the same model on one volume, each in a namespace of its own, with its own salt, uid and clients."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from local_cluster.helm import Helm

from ..api import Api
from ..conftest import MODEL, VALUES, fresh_namespace, own_volume
from ..engines import Engines

UIDS = {"isoa": 10001, "isob": 20001}
"""uid and gid of each line of business; the first is the chart's default."""


@dataclass(frozen=True)
class Tenant:
    """One line of business: its release, engines, and the secret of its salt."""

    name: str
    uid: int
    secret: str
    helm: Helm
    engines: Engines

    def salt(self, own: str = "") -> str:
        """The salt that its engines make of a client's own."""
        return hmac.new(self.secret.encode(), own.encode(), hashlib.sha256).hexdigest()

    def pod(self) -> client.V1Pod:
        """Its one engine."""
        (pod,) = self.engines.ready(1)
        return pod

    def run(self, script: str) -> str:
        """What a shell in the container that has the volume prints."""
        return self.engines.api.run(self.helm.namespace, self.pod().metadata.name, "lmcache", ["sh", "-c", script])


def _values(name: str, others: dict[str, Any], volume: str) -> dict[str, Any]:
    uid = UIDS[name]
    first = bool(others)
    return {
        "lineOfBusiness": name,
        "cacheSalt": {"secretName": "salt"},
        "l2": {
            "volume": {"hostPath": {"path": volume}},
            "owner": {"uid": uid, "gid": uid, "fsGroup": uid if first else None},
            "keeper": {"enabled": first, "linesOfBusiness": others},
        },
        # The tests' own requests come from the node, which policies never stop.
        "networkPolicy": {"clientsFrom": [{"podSelector": {"matchLabels": {"client-of": name}}}]},
        "models": {MODEL: {"replicas": 1, "engine": {"args": ["--enable-prompt-tokens-details"]}}},
    }


@pytest.fixture(scope="package")
def volume() -> Iterator[str]:
    """Path on the nodes of the one that both share."""
    with own_volume("l2-isolation") as (_, on_nodes):
        yield on_nodes


@pytest.fixture(scope="package")
def tenants(
    kubeconfig: Path, api: Api, image_values: list[Path], volume: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Tenant]]:
    """Both, ready; the first keeps the volume for both."""
    folder = tmp_path_factory.mktemp("isolation")
    made: list[Tenant] = []
    ends: list[Iterator[str]] = []
    try:
        for name, uid in UIDS.items():
            namespace = f"tkc-{name}"
            life = fresh_namespace(kubeconfig, api, namespace)
            next(life)
            ends.append(life)
            secret = secrets.token_hex(32)
            api.core.create_namespaced_secret(
                namespace, {"metadata": {"name": "salt"}, "stringData": {"salt": secret + "\n"}}
            )
            others = {"isob": {"quota": "1Gi", "gid": UIDS["isob"]}} if not made else {}
            file = folder / f"{name}.json"
            file.write_text(json.dumps(_values(name, others, volume)))
            helm = Helm(kubeconfig, namespace, "iso", [VALUES, *image_values, file])
            made.append(Tenant(name, uid, secret, helm, Engines(api, namespace, "iso", MODEL)))
            done = helm.upgrade(wait_s=600)
            assert done.ok, done.text
        yield made
    finally:
        for tenant in made:
            tenant.helm.uninstall()
        for life in ends:
            next(life, None)
