"""The verb `l2-patch certificate` against an API server that locks as the real one does."""

from __future__ import annotations

import argparse
import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emulators.apiserver import JsonServer
from tiered_kv_cache.__main__ import main
from tiered_kv_cache.patch import authority, certificate
from tiered_kv_cache.patch.kube import KubernetesApi

Json = dict[str, Any]
NOW = datetime(2026, 12, 1, tzinfo=UTC)
_SECRET = re.compile(r"/api/v1/namespaces/tkc/secrets(/tls)?")
_WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/patch"


class Server(JsonServer):
    """One Secret, one configuration. ``wrote``: in which order; ``conflicts``: so many writes are refused; ``status``: of all."""

    def __init__(self) -> None:
        super().__init__()
        self.secret: Json | None = None
        self.webhook: Json | None = {
            "metadata": {"name": "patch"},
            "webhooks": [{"name": "a", "clientConfig": {}}, {"name": "b", "clientConfig": {"caBundle": "bm8="}}],
        }
        self.wrote: list[str] = []
        self.conflicts, self.status = 0, 0

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Json]:
        """One request."""
        if self.status:
            return self.status, {"message": "no"}
        if method != "GET" and self.conflicts:
            self.conflicts -= 1
            return 409, {"message": "the object has been modified"}
        if path == _WEBHOOK:
            return self._configuration(body)
        assert _SECRET.fullmatch(path), path
        if body is not None:
            self.wrote.append("secret")
            self.secret = json.loads(json.dumps(body))
        return (200, self.secret) if self.secret else (404, {})

    def _configuration(self, body: Any) -> tuple[int, Json]:
        if self.webhook is None:
            return 404, {}
        for operation in body or ():
            _, _, place, *rest = operation["path"].split("/")
            found = self.webhook["webhooks"][int(place)]
            if operation["op"] == "test":
                assert found["name"] == operation["value"]
            else:
                assert rest == ["clientConfig", "caBundle"]
                found["clientConfig"]["caBundle"] = operation["value"]
        if body:
            self.wrote.append("webhook")
        return 200, self.webhook


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


def ensure(server: Server, now: datetime = NOW, **changed: Any) -> None:
    from kubernetes import client  # noqa: PLC0415

    configuration = client.Configuration()
    configuration.host = server.url
    settings = {
        "namespace": "tkc",
        "secret": "tls",
        "service": "patch",
        "webhook": "patch",
        "webhook_optional": False,
        "issued": False,
    }
    api = KubernetesApi(client.ApiClient(configuration))
    certificate.ensure(api, argparse.Namespace(**{**settings, **changed}), now)


def _data(server: Server, key: str) -> bytes:
    assert server.secret
    return base64.b64decode(server.secret["data"][key])


def test_the_bundle_is_written_before_the_secret(server: Server) -> None:
    ensure(server)
    assert server.wrote == ["webhook", "secret"]
    assert server.webhook and server.secret
    assert {each["clientConfig"]["caBundle"] for each in server.webhook["webhooks"]} == {
        server.secret["data"]["ca.crt"]
    }
    assert server.secret["type"] == "kubernetes.io/tls"
    leaf = authority.read_bundle(_data(server, "tls.crt"))[0]
    assert authority.hosts_of(leaf) == ["patch.tkc.svc", "patch.tkc", "patch.tkc.svc.cluster.local"]


def test_a_second_run_writes_nothing(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    ensure(server)
    server.wrote.clear()
    capsys.readouterr()
    ensure(server, NOW + timedelta(hours=1))
    assert server.wrote == []
    assert capsys.readouterr().out == ""


def test_a_rendered_configuration_gets_its_bundle_back(server: Server) -> None:
    ensure(server)
    assert server.webhook
    server.webhook["webhooks"][0]["clientConfig"] = {}
    server.wrote.clear()
    ensure(server, NOW + timedelta(days=30))
    assert server.wrote == ["webhook"]


def test_labels_of_the_secret_stay(server: Server) -> None:
    server.secret = {
        "metadata": {"name": "tls", "labels": {"a": "b"}, "resourceVersion": "7"},
        "data": {"tls.crt": "???", "tls.key": ""},
    }
    ensure(server)
    assert server.secret["metadata"]["labels"] == {"a": "b"}
    assert server.secret["metadata"]["resourceVersion"] == "7"


def test_somebody_else_who_writes_is_waited_for(server: Server) -> None:
    server.conflicts = 2
    ensure(server)
    assert server.wrote[-1] == "secret"
    server.secret, server.conflicts = None, 50
    with pytest.raises(certificate.Failed, match="409"):
        ensure(server)


def test_before_an_install_there_is_no_configuration(server: Server) -> None:
    server.webhook = None
    with pytest.raises(certificate.Failed, match=r"no MutatingWebhookConfiguration patch\. Fix: upgrade"):
        ensure(server)
    assert server.wrote == []
    ensure(server, webhook_optional=True)
    assert server.wrote == ["secret"]
    ensure(server, webhook=None)


def test_what_another_controller_issues_is_only_trusted(server: Server) -> None:
    with pytest.raises(certificate.Failed, match="events of the Certificate"):
        ensure(server, issued=True)
    ensure(server)
    server.wrote.clear()
    assert server.webhook
    server.webhook["webhooks"][1]["clientConfig"] = {}
    ensure(server, issued=True)
    assert server.wrote == ["webhook"]


def test_a_missing_right_is_named(server: Server) -> None:
    server.status = 403
    with pytest.raises(certificate.Failed, match=r"403.*Fix: install the chart's Role"):
        ensure(server)


def test_the_verb_says_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    code = main(
        ["l2-patch", "certificate", "--namespace=a", "--secret=b", "--service=c", f"--kubeconfig={tmp_path / 'none'}"]
    )
    assert code == 1
    assert "l2-patch certificate: no way into a cluster" in capsys.readouterr().err
