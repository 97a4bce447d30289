"""Engines that refuse, are busy, break, or are not there (OC-11, OC-12), and clients that hang up."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from router.process import hang_up, wait_for
from router.stack import Stack

BODY = {"model": "tiny", "prompt": "hello", "max_tokens": 4}
STRATEGIES = ["roundrobin", "session", "prefixaware", "kvaware"]
SAME_SIZES = {"cache": {"chunkSize": 128}, "engine": {"blockSize": 128}}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_refused_requests_harm_nobody(stack: Callable[..., Stack], strategy: str) -> None:
    """OC-11: 40 requests that the engine refuses, then a good one. The engine's own text reaches the client."""
    running = stack(strategy, engines=1, of_model=SAME_SIZES)
    (engine,) = running.engines
    engine.faults.status = 400
    for _ in range(40):
        answer = running.post("/v1/completions", BODY)
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "stub says 400")
    assert len(engine.seen) == 40, "a refused request is not tried again"
    engine.faults.status = None
    assert running.post("/v1/completions", BODY).status_code == 200


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("busy", [429, 503])
def test_an_overload_ends_with_the_overload(stack: Callable[..., Stack], strategy: str, busy: int) -> None:
    """OC-11: an engine that was busy gets requests again as soon as it is idle. The text is its own, not the router's."""
    running = stack(strategy, engines=1, of_model=SAME_SIZES)
    (engine,) = running.engines
    engine.faults.status = busy
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: running.post("/v1/completions", BODY), range(30)))
    assert {(a.status_code, a.json()["error"]["message"]) for a in answers} == {(busy, f"stub says {busy}")}
    engine.faults.status = None
    begin = time.monotonic()
    assert running.post("/v1/completions", BODY).status_code == 200
    assert time.monotonic() - begin < 3


def test_the_breaker_is_off_for_that_reason(stack: Callable[..., Stack]) -> None:
    """With it, the only engine is shut out after its overload has ended: what the default avoids."""
    running = stack(
        "roundrobin",
        engines=1,
        circuitBreaker={"enabled": True, "failures": 5, "openSeconds": 2},
        retries={"attempts": 1},
    )
    (engine,) = running.engines
    engine.faults.status = 503
    for _ in range(6):
        running.post("/v1/completions", BODY)
    engine.faults.status = None
    answer = running.post("/v1/completions", BODY)
    assert answer.status_code == 503
    assert "stub" not in answer.text
    wait_for("the breaker closes", lambda: running.post("/v1/completions", BODY).status_code == 200, 5)


@pytest.mark.parametrize("strategy", ["roundrobin", "kvaware"])
def test_an_engine_that_died_is_passed_by(stack: Callable[..., Stack], strategy: str) -> None:
    """Its Pod still counts as Ready. Tried again, a request finds the other engine."""
    running = stack(strategy, of_model=SAME_SIZES)
    running.engines[0].stop()
    for number in range(20):
        answer = running.post("/v1/completions", {**BODY, "prompt": f"p{number}"})
        assert answer.status_code == 200, answer.text


def test_a_session_waits_until_its_engine_is_known_to_be_dead(stack: Callable[..., Stack]) -> None:
    """A bound: it is tried again at the same engine, until the Pod is no longer Ready or three health checks have failed."""
    running = stack("session", retries={"attempts": 2, "initialBackoffMs": 10})
    headers = {"X-Session-ID": "s"}
    owner = running.complete("x", headers=headers)
    owner.stop()
    assert running.post("/v1/completions", BODY, headers).status_code == 500
    wait_for("health checks", lambda: running.post("/v1/completions", BODY, headers).status_code == 200, 30)


def test_a_prefix_waits_until_its_engine_is_known_to_be_dead(stack: Callable[..., Stack]) -> None:
    """The same bound: each try of a request goes where its prefix is."""
    running = stack("prefixaware", retries={"attempts": 2, "initialBackoffMs": 10})
    running.complete(BODY["prompt"]).stop()
    wait_for("health checks", lambda: running.post("/v1/completions", BODY).status_code == 200, 30)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_begun_stream_is_not_begun_again(stack: Callable[..., Stack], strategy: str) -> None:
    running = stack(strategy, of_model=SAME_SIZES)
    for engine in running.engines:
        engine.faults.cut_after = 2
    with pytest.raises(httpx.HTTPError):
        running.post("/v1/completions", {**BODY, "stream": True})
    assert sum(running.counts()) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_client_that_hangs_up_frees_the_engine(stack: Callable[..., Stack], strategy: str, stream: bool) -> None:
    running = stack(strategy, engines=1, of_model=SAME_SIZES)
    (engine,) = running.engines
    engine.faults.chunks, engine.faults.chunk_seconds = 100, 0.1
    engine.faults.seconds = 0 if stream else 60
    body = {**BODY, "stream": stream}
    url = running.router.url + "/v1/completions"
    if stream:
        with running.router.client.stream("POST", url, json=body) as answer:
            next(answer.iter_raw())
    else:
        hang_up(url, body, lambda: engine.seen)
    wait_for("the engine notices", lambda: engine.aborted == 1, 8)


def test_requests_end_in_time(stack: Callable[..., Stack]) -> None:
    running = stack("roundrobin", engines=1, requestTimeoutSeconds=1, retries={"attempts": 1})
    running.engines[0].faults.seconds = 5
    begin = time.monotonic()
    assert running.post("/v1/completions", BODY).status_code == 500
    assert time.monotonic() - begin < 4
    wait_for("the engine is free again", lambda: running.engines[0].aborted == 1, 8)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_unready_and_relabelled_pods_get_nothing_new(stack: Callable[..., Stack], strategy: str) -> None:
    """OC-12 a, b: within 5 s, although /health says 200; open streams end well."""
    running = stack(strategy, of_model=SAME_SIZES)
    first, second = running.engines
    for engine in running.engines:
        engine.faults.chunks, engine.faults.chunk_seconds = 20, 0.1
    with ThreadPoolExecutor(4) as pool:
        streams = [
            pool.submit(running.post, "/v1/completions", {**BODY, "stream": True}, {"X-Session-ID": str(number)})
            for number in range(4)
        ]
        wait_for("streams run", lambda: sum(running.counts()) == 4)
        running.relabel(first)
        running.wait_workers()
        assert all(s.result().text.endswith("data: [DONE]\n\n") for s in streams)
    before = len(first.seen)
    for number in range(10):
        assert running.post("/v1/completions", {**BODY, "prompt": f"p{number}"}).status_code == 200
    assert len(first.seen) == before
    running.add_engine()
    running.wait_workers()
    running.set_ready(second, False)
    running.wait_workers()
    before = len(second.seen)
    for number in range(10):
        assert running.post("/v1/completions", {**BODY, "prompt": f"q{number}"}).status_code == 200
    assert len(second.seen) == before


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_engine_and_no_such_model(stack: Callable[..., Stack], strategy: str) -> None:
    """OC-12 c, d: a model without Pods is 503, also from a router that started without any; a model that never was is 404."""
    running = stack(strategy, engines=1, of_model=SAME_SIZES)
    assert running.post("/v1/completions", {**BODY, "model": "never"}).status_code == 404
    running.set_ready(running.engines[0], False)
    running.wait_workers()
    for _ in range(2):
        answer = running.post("/v1/completions", BODY)
        assert answer.status_code == 503
        # A bound of vllm-router 0.1.17; the gateway adds it.
        assert "retry-after" not in answer.headers
        running.restart_router()


def test_models(stack: Callable[..., Stack]) -> None:
    running = stack("roundrobin")
    found = running.router.client.get(running.router.url + "/v1/models").json()
    assert [each["id"] for each in found["data"]] == ["tiny"]
