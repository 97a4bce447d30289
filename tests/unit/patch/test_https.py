"""The server itself: connections, limits, certificates, leaving."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from http import HTTPStatus
from pathlib import Path

import httpx
import pytest
from prometheus_client import generate_latest

from tiered_kv_cache.__main__ import main
from tiered_kv_cache.patch import https, review
from tiered_kv_cache.patch.https import HttpsServer
from tiered_kv_cache.patch.tls import Certificate

from .conftest import Served, new
from .test_review import request


def test_a_review_is_answered_over_one_connection(served: Served) -> None:
    with served.client() as client:
        answers = [client.post("/pods", content=request()) for _ in range(3)]
        places = {answer.extensions["network_stream"].get_extra_info("client_addr") for answer in answers}
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].json()["response"]["allowed"] is True
    assert len(places) == 1
    text = generate_latest(served.webhook.metrics.registry).decode()
    assert 'tiered_kv_cache_l2_patch_requests_total{result="patched"} 3.0' in text
    assert "tiered_kv_cache_l2_patch_parameters 5.0" in text


def test_the_path_names_a_revision(served: Served) -> None:
    with served.client() as client:
        refused = client.post("/pods/7?timeout=5s", content=request()).json()["response"]
        assert "webhook configuration of '7'" in refused["status"]["message"]
        assert client.post("/pods?timeout=5s", content=request()).json()["response"]["allowed"] is True


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/pods", b"{", 400),
        ("POST", "/elsewhere", request(), 404),
        ("GET", "/pods", b"", 405),
        ("POST", "/pods", b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a"}}', 200),
    ],
)
def test_other_requests_get_clear_answers(served: Served, method: str, path: str, content: bytes, status: int) -> None:
    with served.client() as client:
        found = client.request(method, path, content=content)
        assert found.status_code == status
        assert found.content
        assert client.post("/pods", content=request()).status_code == 200


def test_a_fault_of_the_patch_lets_nobody_in(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> review.Answer:
        raise KeyError("name")

    monkeypatch.setattr(review, "answer", broken)
    with served.client() as client:
        found = client.post("/pods", content=request())
    assert (found.status_code, found.text) == (500, "KeyError: 'name'\n")


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Content-Length: {https.MOST_BYTES + 1}", 413),
        ("Transfer-Encoding: chunked", 411),
        ("Content-Length: -1", 411),
    ],
)
def test_a_body_is_bounded_and_its_length_known(served: Served, header: str, status: int) -> None:
    context = ssl.create_default_context(cadata=served.bundle.decode())
    with (
        socket.create_connection(("localhost", served.port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        secure.sendall(f"POST /pods HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n".encode())
        with secure.makefile("rb") as answer:
            assert answer.readline() == f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
            assert b"Connection: close\r\n" in answer.readlines()


def test_clients_that_stall_keep_nobody_waiting(served: Served) -> None:
    context = ssl.create_default_context(cadata=served.bundle.decode())
    with (
        socket.create_connection(("localhost", served.port)),
        socket.create_connection(("localhost", served.port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as half,
        served.client() as client,
    ):
        half.sendall(b"POST /pods HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{")
        assert client.post("/pods", content=request()).status_code == 200


def test_another_certificate_is_taken_without_a_restart(served: Served) -> None:
    with served.client() as old:
        assert old.post("/pods", content=request()).status_code == 200
        served.show(new())
        with served.client() as client:
            assert client.post("/pods", content=request()).status_code == 200
        assert old.post("/pods", content=request()).status_code == 200


def test_a_broken_certificate_is_not_taken(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    with served.client() as client:
        assert client.post("/pods", content=request()).status_code == 200
    served.certificate.write({"tls.crt": new().secret["tls.crt"], "tls.key": new().secret["tls.key"]})
    for _ in range(2):
        with served.client() as client:
            assert client.post("/pods", content=request()).status_code == 200
    assert capsys.readouterr().err.count("certificate not read") == 1
    served.certificate.remove()
    with served.client() as client:
        assert client.post("/pods", content=request()).status_code == 200


def test_without_a_certificate_it_is_not_ready(tmp_path: Path, served: Served) -> None:
    assert served.webhook.ready()[0] == 200
    served.webhook.certificate = Certificate(tmp_path / "none", lambda _: None)
    assert served.webhook.ready() == (503, b"no certificate yet\n", https.PLAIN)
    assert served.webhook.certificate.end() == 0


def test_leaving_it_ends_connections_with_their_answers(served: Served) -> None:
    with served.client() as client:
        assert "Connection" not in client.post("/pods", content=request()).headers
        served.webhook.leaving.set()
        assert client.post("/pods", content=request()).headers["Connection"] == "close"
        assert client.post("/pods", content=request()).status_code == 200
    assert served.webhook.ready()[0] == 503


@pytest.fixture
def slow(served: Served) -> tuple[Served, threading.Event, threading.Event]:
    """A server whose answer waits for the second event; the first says that it has begun."""
    begun, go_on = threading.Event(), threading.Event()
    handle = served.server.handle

    def wait(path: str, body: bytes) -> https.Reply:
        begun.set()
        go_on.wait(30)
        return handle(path, body)

    served.server.handle = wait
    return served, begun, go_on


def test_draining_waits_for_requests_under_way(slow: tuple[Served, threading.Event, threading.Event]) -> None:
    served, begun, go_on = slow
    answers: list[httpx.Response] = []

    def ask() -> None:
        with served.client() as client:
            answers.append(client.post("/pods", content=request()))

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(30)
    assert served.server.drain(0.01) is False
    go_on.set()
    asking.join()
    assert json.loads(answers[0].content)["response"]["allowed"] is True


def test_there_is_a_most_of_connections(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https, "MOST_CONNECTIONS", 1)
    server = HttpsServer(0, served.webhook.certificate, served.webhook.handle, served.webhook.leaving)
    server.start()
    context = ssl.create_default_context(cadata=served.bundle.decode())
    address = ("localhost", int(server.server_address[1]))
    with (
        socket.create_connection(address) as first,
        context.wrap_socket(first, server_hostname="localhost"),
        socket.create_connection(address) as second,
    ):
        assert second.recv(1) == b""
    threading.Thread(target=server.drain, args=(0,)).start()


def test_a_taken_port_is_bad_usage(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET6) as taken:
        taken.bind(("::", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code = main([
            "l2-patch", "serve", f"--parameters={tmp_path}", f"--certificate={tmp_path}", f"--port={port}", "--health-port=0",
        ])  # fmt: skip
    assert code == 2
    assert "a port is taken" in capsys.readouterr().err
