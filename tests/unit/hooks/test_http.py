"""Timeouts, retries and what is said when a server does not answer."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from emulators.engine import Engine, Faults
from ports import free_port
from tiered_kv_cache import http as http_module
from tiered_kv_cache.deadline import Deadline, DeadlinePassed
from tiered_kv_cache.engine import Engine as Client
from tiered_kv_cache.engine import EngineError, event_of
from tiered_kv_cache.http import BadAnswer, Http, Unreachable


def test_a_server_that_comes_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "RETRY_SECONDS", 3.0)
    port = free_port()

    def serve() -> None:
        with socket.create_server(("127.0.0.1", port)) as server:
            connection, _ = server.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            connection.close()

    threading.Timer(0.2, serve).start()
    assert Http(f"http://127.0.0.1:{port}", Deadline(5)).call("GET", "/x").text == "ok"


def test_refused() -> None:
    port = free_port()
    with pytest.raises(Unreachable, match=rf"http://127.0.0.1:{port}/x: .*[Rr]efused"):
        Http(f"http://127.0.0.1:{port}", Deadline(5)).call("GET", "/x")


def test_a_server_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(Unreachable, match="no answer in time"):
            Http(url, Deadline(5)).call("GET", "/x", at_most=0.1)
        with (
            pytest.raises(DeadlinePassed, match=r"the deadline of 1 s passed while waiting for"),
            Http(url, Deadline(1)).stream("/x", {}),
        ):
            pass


def test_a_completion_is_sent_once(tmp_path: Path) -> None:
    engine = Engine(tmp_path, faults=Faults(drop_stream=True)).start()
    client = Client(f"http://127.0.0.1:{engine.vllm_port}", "tiny", Deadline(5))
    with pytest.raises(Unreachable):
        client.complete(list(range(300)), 4)
    assert engine.dropped == 1
    client.close()
    engine.stop()


def test_answers_of_vllm(tmp_path: Path) -> None:
    engine = Engine(tmp_path).start()
    url = f"http://127.0.0.1:{engine.vllm_port}"
    client = Client(url, "tiny", Deadline(5))
    answer = client.complete(list(range(300)), 5)
    assert len(answer.text.split()) == 5
    assert answer.ttft_ms > 0
    assert answer.prompt_tokens == 300
    tokens = client.tokenize("x" * 41)
    assert (len(tokens.ids), tokens.max_model_len) == (11, 4096)
    wrong = Client(url, "other", Deadline(5))
    with pytest.raises(BadAnswer, match=r"/tokenize answered 404: .*`other` does not exist"):
        wrong.tokenize("x")
    with pytest.raises(BadAnswer, match=r"/v1/completions answered 404"):
        wrong.complete([1], 1)
    assert client.reset_prefix_cache()
    engine.faults.dev_mode = False
    assert not client.reset_prefix_cache()
    for each in (client, wrong):
        each.close()
    engine.stop()


def test_event_lines() -> None:
    with pytest.raises(EngineError, match="a line that is not JSON"):
        event_of("data: {half")
    with pytest.raises(EngineError, match="streamed an error"):
        event_of('data: {"error": {"message": "dead"}}')
    with pytest.raises(EngineError, match="something other than an object"):
        event_of("data: []")
    assert event_of("data: [DONE]") is event_of(": a comment") is event_of("") is None
