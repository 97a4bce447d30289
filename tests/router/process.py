"""One process of the packaged router."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from chart.helm import Json
from ports import free_ports

_PLACE = {"--host": "127.0.0.1", "--prometheus-host": "127.0.0.1"}


def wait_for(what: str, condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Poll until the condition is true.

    Raises:
        AssertionError: it was not within `seconds`.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.02)


def hang_up(url: str, body: Json, arrived: Callable[[], object]) -> None:
    """Send a request, and break the connection once it has arrived.

    No client's time-out does that: on a machine that stands still the answer would be there first.
    """
    request = httpx.Request("POST", url, json=body)
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    with socket.create_connection((request.url.host, request.url.port)) as caller:
        caller.sendall(f"POST {request.url.path} HTTP/1.1\r\n{head}\r\n".encode() + request.read())
        wait_for("the engine has the request", arrived)


class Router:
    """A running router. Of its flags only the addresses on which it listens are the tests' own.

    Args:
        program: vllm-router.
        args: its flags, as rendered by the chart.
        env: its environment, as rendered by the chart.
        kubeconfig: of the API that knows the engines' Pods.
        log: file for what it says.
    """

    def __init__(self, program: Path, args: Sequence[str], env: dict[str, str], kubeconfig: Path, log: Path) -> None:
        port, metrics = free_ports(2)
        self.url, self._metrics_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{metrics}/metrics"
        own = list(args)
        for name, value in {**_PLACE, "--port": str(port), "--prometheus-port": str(metrics)}.items():
            own[own.index(name) + 1] = value
        self._log = log
        self.client = httpx.Client(timeout=60, limits=httpx.Limits(max_connections=256))
        with log.open("ab") as output:
            environment = {**os.environ, **env, "KUBECONFIG": str(kubeconfig)}
            command = [str(program), *own]
            self._process = subprocess.Popen(command, env=environment, cwd=log.parent, stdout=output, stderr=output)
        wait_for("the router answers", lambda: self._answers("/liveness"), 90)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self.client.close()

    def _answers(self, path: str) -> bool:
        assert self._process.poll() is None, f"the router ended: {self.log()[-2000:]}"
        try:
            return self.client.get(self.url + path).is_success
        except httpx.HTTPError:
            return False

    def workers(self) -> list[str]:
        """URLs that it may send requests to."""
        return sorted(self.client.get(f"{self.url}/list_workers").json()["urls"])

    def wait_workers(self, *urls: str) -> None:
        """Wait until it knows these engines and no other."""
        wait_for(f"workers {urls}", lambda: self.workers() == sorted(urls))

    def log(self) -> str:
        """What it said."""
        return self._log.read_text(errors="replace")

    def metric(self, name: str, **labels: str) -> float:
        """Sum of a metric's samples with these labels."""
        families = text_string_to_metric_families(self.client.get(self._metrics_url).text)
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return sum(s.value for s in samples if labels.items() <= s.labels.items())

    def post(self, path: str, body: Json, headers: dict[str, str] | None = None) -> httpx.Response:
        """One request; a stream is read to its end."""
        return self.client.post(self.url + path, json=body, headers=headers)
