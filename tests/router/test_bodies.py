"""What of a request reaches the engine (OC-10), and which shapes of a body are routed by their beginning (OC-13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chart.helm import Json
from router.engine import Seen
from router.prompts import prefix
from router.stack import Stack

SAME_SIZES = {"cache": {"chunkSize": 128}, "engine": {"blockSize": 128}}

EXTRA: Json = {
    "model": "tiny",
    "max_tokens": 4,
    "cache_salt": "lob-a",
    "chat_template_kwargs": {"enable_thinking": False},
    "return_token_ids": True,
    "priority": 1,
    "x_future": {"a": [1]},
    "kv_transfer_params": {"k": None},
    "logit_bias": {"1": -100},
    "seed": 7,
    "temperature": 0,
}
"""Fields that vLLM knows, some of them not OpenAI's, and one that nobody knows yet."""

BODIES: dict[str, Json] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hello", "x_part": 1}], **EXTRA},
    "/v1/completions": {"prompt": "hello", **EXTRA},
    "/v1/responses": {"input": "hello", **EXTRA},
}


def _last(running: Stack) -> Seen:
    """The one request that arrived."""
    (seen,) = [seen for engine in running.engines for seen in engine.seen]
    return seen


@pytest.mark.parametrize("strategy", ["roundrobin", "prefixaware", "kvaware"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_fields_arrive(stack: Callable[..., Stack], path: str, stream: bool, strategy: str) -> None:
    running = stack(strategy, of_model=SAME_SIZES)
    sent = {**BODIES[path], "stream": stream}
    answer = running.post(path, sent)
    assert answer.status_code == 200, answer.text
    got = _last(running).body
    assert {key: got.get(key, "dropped") for key in sent} == sent
    print(path, stream, strategy, sorted(set(got) - set(sent)), {k: got[k] for k in set(got) - set(sent)})


@pytest.mark.parametrize("path", BODIES)
def test_headers_arrive(stack: Callable[..., Stack], path: str) -> None:
    running = stack("roundrobin")
    headers = {
        "authorization": "Bearer key",
        "x-session-id": "s1",
        "x-request-id": "r1",
        "traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01",
    }
    running.post(path, BODIES[path], headers)
    got = _last(running).headers
    print(path, {k: got.get(k) for k in headers})
    assert got.get("authorization") == "Bearer key"


LONG = prefix("long", 2000)
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

SHAPES: dict[str, tuple[str, Json]] = {
    "string content": ("/v1/chat/completions", {"messages": [{"role": "system", "content": LONG}]}),
    "one text part": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": LONG}]}]},
    ),
    "two text parts": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": LONG}, {"type": "text", "text": "and"}]}]},
    ),
    "tool calls": (
        "/v1/chat/completions",
        {
            "messages": [
                {"role": "user", "content": LONG},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "42"},
            ],
            "tools": TOOLS,
        },
    ),
    "prompt": ("/v1/completions", {"prompt": LONG}),
    "token ids": ("/v1/completions", {"prompt": list(range(2000))}),
    "list of two": ("/v1/completions", {"prompt": [LONG, LONG + " other"]}),
    "responses": ("/v1/responses", {"input": LONG}),
    "responses items": (
        "/v1/responses",
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": LONG}]}]},
    ),
}


def _ask(running: Stack, path: str, body: Json) -> tuple[int, Any]:
    before = running.counts()
    answer = running.post(path, {"model": "tiny", **body})
    return answer.status_code, (running.grown(before) if answer.status_code == 200 else answer.text)


@pytest.mark.parametrize("strategy", ["prefixaware", "kvaware"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_follow_their_prefix(stack: Callable[..., Stack], shape: str, strategy: str) -> None:
    """The prefix is first brought to the engine that idle routing would not choose, so that staying there is no accident."""
    running = stack(strategy, of_model=SAME_SIZES)
    for engine in running.engines:
        engine.faults.seconds = 0.03
    path, body = SHAPES[shape]
    idle, other = running.engines
    running.set_ready(idle, False)
    running.wait_workers()
    status, went = _ask(running, path, body)
    assert (status, went) == (200, other), went
    running.set_ready(idle)
    running.wait_workers()
    where = [_ask(running, path, body) for _ in range(20)]
    assert all(status == 200 for status, _ in where), where
    assert sum(went is other for _, went in where) >= 19, [e.address for _, e in where]
