"""A machine that cannot hold the cluster is refused with everything that is missing."""

from __future__ import annotations

import socket

import pytest

from local_cluster.host import checks
from local_cluster.problem import Problem


def test_all_faults_together() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Problem) as caught:
            checks.check_machine({port: "TKC_URL_PORT"}, min_disk_gb=1e9, min_memory_gb=1e9)
    text = str(caught.value)
    assert "GB free, 1000000000 GB are needed" in text
    assert "GB of memory, 1000000000 GB are needed" in text
    assert f"port 127.0.0.1:{port} is taken" in text
    assert "TKC_URL_PORT=<free port>" in text


def test_nothing_is_said_when_all_is_there() -> None:
    checks.check_machine({}, min_disk_gb=0, min_memory_gb=0)


@pytest.mark.parametrize("text", ["abc", "80", "70000", "-1"])
def test_a_port_that_is_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TKC_URL_PORT", text)
    with pytest.raises(Problem, match="TKC_URL_PORT"):
        checks.port("TKC_URL_PORT", 8080)


def test_a_port_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TKC_URL_PORT", "8081")
    assert checks.port("TKC_URL_PORT", 8080) == 8081
    monkeypatch.setenv("TKC_URL_PORT", "")
    assert checks.port("TKC_URL_PORT", 8080) == 8080
