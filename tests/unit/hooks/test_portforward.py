"""Port forwarding through a fake dialler."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from emulators.cluster import pod
from emulators.engine import Engine
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.engine import Engine as Client
from tiered_kv_cache.http import Unreachable
from tiered_kv_cache.pods import Pod
from tiered_kv_cache.portforward import PortForward


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path).start()
    yield made
    made.stop()


def test_requests_go_through(engine: Engine) -> None:
    dialled: list[tuple[str, str, int]] = []

    def dial(namespace: str, name: str, port: int) -> socket.socket:
        dialled.append((namespace, name, port))
        return socket.create_connection(("127.0.0.1", engine.vllm_port))

    forward = PortForward(dial)
    url = forward.url(Pod.parse(pod("pod-a")), 8000)
    assert url == forward.url(Pod.parse(pod("pod-a")), 8000)
    client = Client(url, "tiny", Deadline(10))
    assert client.served_models() == ["tiny"]
    assert client.complete(list(range(600)), 4).prompt_tokens == 600
    assert dialled
    assert set(dialled) == {("kv", "pod-a", 8000)}
    client.close()
    forward.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, timeout=1)


def test_a_pod_that_cannot_be_dialled() -> None:
    def dial(namespace: str, name: str, port: int) -> socket.socket:
        raise RuntimeError("pods 'pod-a' not found")

    forward = PortForward(dial)
    with pytest.raises(Unreachable):
        Client(forward.url(Pod.parse(pod("pod-a")), 8000), "tiny", Deadline(2)).health()
    forward.close()
