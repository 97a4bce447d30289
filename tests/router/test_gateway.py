"""The gateway of a release: the chart's program with the configuration that the chart renders, in the router's environment."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from chart.helm import Helm, Json, overlay
from ports import free_ports
from router.engine import Engine
from router.places import CHART
from router.process import hang_up, wait_for
from router.stack import Stack

BODY: Json = {
    "messages": [{"role": "user", "content": "hello", "x_part": 1}],
    "max_tokens": 4,
    "model": "org/Other",
    "x": None,
}
GATEWAY = {"gateway": {"enabled": True, "maxBodyMiB": 1}}
OTHER = {"models": {"other": {"servedName": "org/Other", "source": {"claim": {"name": "models"}}}}}


@dataclass
class Running:
    """A gateway in front of the real router of model tiny, and of a stub in the place of the other model's router."""

    url: str
    metrics: str
    tiny: Stack
    other: Engine
    process: subprocess.Popen[bytes]
    client: httpx.Client

    def post(
        self, body: object, path: str = "/v1/chat/completions", headers: dict[str, str] | None = None
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(
            self.url + path, content=content, headers={"content-type": "application/json", **(headers or {})}
        )


@pytest.fixture
def gateway(stack: Callable[..., Stack], helm: Helm, program: Path, tmp_path: Path) -> Iterator[Running]:
    manifests = helm.template(overlay(GATEWAY, OTHER))
    (data,) = [each["data"] for each in manifests.of("ConfigMap") if "tkc_gateway.py" in each["data"]]
    config = json.loads(data["config.json"])
    assert config["models"] == {
        "tiny": "http://demo-tiny.tiered-kv-cache:80",
        "org/Other": "http://demo-other.tiered-kv-cache:80",
    }
    assert data["tkc_gateway.py"] == (CHART / "files" / "tkc_gateway.py").read_text().replace("\n\n\n", "\n\n")
    tiny = stack("roundrobin")
    other = Engine(tiny.engines[0].address.rsplit(".", 1)[0] + ".99", model="org/Other").start()
    port, metrics = free_ports(2)
    config |= {"models": {"tiny": tiny.router.url, "org/Other": other.url}, "host": "127.0.0.1", "port": port}
    config |= {"metricsPort": metrics}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "tkc_gateway.py").write_text(data["tkc_gateway.py"])
    command = [str(program.with_name("python")), "tkc_gateway.py", "config.json"]
    with httpx.Client(timeout=30) as client, (tmp_path / "gateway.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert process.poll() is None, (tmp_path / "gateway.log").read_text()
            try:
                return client.get(f"{url}/health").is_success
            except httpx.HTTPError:
                return False

        wait_for("the gateway answers", answers, 90)
        yield Running(url, f"http://127.0.0.1:{metrics}/metrics", tiny, other, process, client)
        process.kill()
        process.wait()
    other.stop()


def test_models(gateway: Running) -> None:
    listed = gateway.client.get(f"{gateway.url}/v1/models").json()
    assert [each["id"] for each in listed["data"]] == ["org/Other", "tiny"]
    assert gateway.client.get(f"{gateway.url}/v1/models/org/Other").json()["id"] == "org/Other"
    assert gateway.client.get(f"{gateway.url}/v1/models/none").status_code == 404


@pytest.mark.parametrize("stream", [False, True])
def test_goes_by_model(gateway: Running, stream: bool) -> None:
    for number in range(50):
        for model in ("tiny", "org/Other"):
            answer = gateway.post({**BODY, "model": model, "stream": stream, "n": number})
            assert answer.status_code == 200, answer.text
            assert model in answer.text
            assert not stream or answer.text.endswith("data: [DONE]\n\n")
    assert (len(gateway.other.seen), sum(gateway.tiny.counts())) == (50, 50)
    scraped = gateway.client.get(gateway.metrics).text
    assert 'tkc_gateway_requests_total{model="tiny",status="200"} 50' in scraped


def test_nothing_is_changed_on_the_way(gateway: Running) -> None:
    """OC-10: body field by field, and the headers that carry keys and sessions."""
    headers = {"authorization": "Bearer key", "x-session-id": "s1", "x-custom": "a, b"}
    assert gateway.post(BODY, headers=headers).status_code == 200
    (seen,) = gateway.other.seen
    assert seen.body == BODY
    assert headers.items() <= seen.headers.items()
    for path in ("/v1/completions", "/v1/responses"):
        assert gateway.post({"model": "org/Other", "prompt": "x", "input": "x"}, path).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, 'no "model"'),
        ({"messages": []}, 400, 'no "model"'),
        ({**BODY, "model": "never"}, 404, "The model `never` does not exist. There are: org/Other, tiny"),
        ({**BODY, "messages": [{"role": "user", "content": "x" * 2_000_000}]}, 413, "larger than 1048576 bytes"),
    ],
)
def test_refusals(gateway: Running, body: object, status: int, says: str) -> None:
    answer = gateway.post(body)
    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]
    assert not gateway.other.seen


def test_other_paths_end_here(gateway: Running) -> None:
    """The routers' worker management and the engines' adapters and cache resets have no authentication."""
    client, url = gateway.client, gateway.url
    for path in (
        "/add_worker?url=http://x",
        "/remove_worker?url=x",
        "/reset_prefix_cache",
        "/v1/load_lora_adapter",
        "/workers",
    ):
        assert client.post(url + path, json={"model": "tiny"}).status_code == 404
    for path in ("/list_workers", "/metrics", "/kv_event_sources", "/v1/../list_workers", "//list_workers"):
        assert client.get(url + path).status_code == 404
    assert len(gateway.tiny.router.workers()) == 2


@pytest.mark.parametrize("status", [400, 429, 503])
def test_the_engines_own_errors_arrive(gateway: Running, status: int) -> None:
    gateway.other.faults.status = status
    answer = gateway.post(BODY)
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, f"stub says {status}")
    assert (answer.headers.get("retry-after") == "5") == (status == 503)


def test_a_model_without_pods(gateway: Running) -> None:
    """OC-12 c: 503 with Retry-After, whether its router answers so or does not answer at all."""
    for engine in gateway.tiny.engines:
        gateway.tiny.set_ready(engine, False)
    gateway.tiny.wait_workers()
    gateway.other.stop()
    for model in ("tiny", "org/Other"):
        answer = gateway.post({**BODY, "model": model})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_streams_flow(gateway: Running) -> None:
    """Chunk by chunk, not at the end."""
    gateway.other.faults.chunks, gateway.other.faults.chunk_seconds = 5, 0.2
    times = []
    body = {**BODY, "stream": True}
    with gateway.client.stream("POST", f"{gateway.url}/v1/chat/completions", json=body) as answer:
        times = [time.monotonic() for line in answer.iter_lines() if line.startswith("data: {")]
    assert len(times) == 5
    assert times[-1] - times[0] > 0.5


def test_a_stream_that_breaks_breaks_here_too(gateway: Running) -> None:
    gateway.other.faults.cut_after = 2
    with pytest.raises(httpx.HTTPError):
        gateway.post({**BODY, "stream": True})


def test_a_client_that_hangs_up_in_a_stream(gateway: Running) -> None:
    gateway.other.faults.chunks, gateway.other.faults.chunk_seconds = 100, 0.1
    with gateway.client.stream("POST", f"{gateway.url}/v1/chat/completions", json={**BODY, "stream": True}) as answer:
        next(answer.iter_raw())
    wait_for("the engine notices", lambda: gateway.other.aborted == 1, 8)


def test_a_client_that_hangs_up_before_the_answer(gateway: Running) -> None:
    gateway.other.faults.seconds = 60
    hang_up(f"{gateway.url}/v1/chat/completions", BODY, lambda: gateway.other.seen)
    wait_for("the engine notices", lambda: gateway.other.aborted == 1, 8)


def test_requests_survive_its_end(gateway: Running) -> None:
    """SIGTERM: what runs is finished."""
    faults = gateway.other.faults
    faults.chunks, faults.chunk_seconds = 20, 0.1
    body = {**BODY, "stream": True}
    with gateway.client.stream("POST", f"{gateway.url}/v1/chat/completions", json=body) as answer:
        lines = answer.iter_lines()
        next(lines)
        gateway.process.terminate()
        assert list(lines)[-2:] == ["data: [DONE]", ""]
    assert gateway.process.wait(10) == 0
