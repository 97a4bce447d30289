"""What of a request reaches the engine (OC-10), and which shapes of a body are routed by their beginning (OC-13)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chart.helm import Json
from router.engine import Engine, Seen
from router.prompts import prefix
from router.stack import Stack

SAME_SIZES = {"cache": {"chunkSize": 128}, "engine": {"blockSize": 128}}
CHAT = "/v1/chat/completions"

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
    "seed": 9223372036854775807,
    "temperature": 0,
    "structured_outputs": {"regex": "a+"},
    "vllm_xargs": {"a": 1},
    "mm_processor_kwargs": {"fps": 1},
}
"""Fields that vLLM knows, some of them not OpenAI's, and one that nobody knows yet."""

BODIES: dict[str, Json] = {
    CHAT: {"messages": [{"role": "user", "content": "hello"}], **EXTRA},
    "/v1/completions": {"prompt": "hello", **EXTRA},
    "/v1/responses": {"input": "hello", **EXTRA},
}

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGES: list[Json] = [
    {"role": "system", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]},
    {"role": "developer", "content": "x"},
    {"role": "user", "content": "x", "name": "n"},
    {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "http://x", "detail": "low"}, "uuid": "u"}],
    },
    {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "http://x"}}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}]},
    {"role": "user", "content": [{"type": "part_of_tomorrow", "x": [1]}]},
    {"role": "assistant", "content": "x", "tool_calls": [CALL], "reasoning": "r"},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]},
    {"role": "role_of_tomorrow", "content": "x"},
]

DROPPED: dict[str, tuple[Json, str]] = {
    "unknown key of a message": ({"messages": [{"role": "user", "content": "x", "x_new": 1}]}, "messages"),
    "prefix of an assistant's turn": (
        {"messages": [{"role": "assistant", "content": "x", "prefix": True}]},
        "messages",
    ),
    "name of a tool's turn": (
        {"messages": [{"role": "tool", "tool_call_id": "c1", "content": "1", "name": "f"}]},
        "messages",
    ),
    "strict tools": (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}]},
        "tools",
    ),
    "continuous usage": (
        {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}},
        "stream_options",
    ),
}
"""A bound of vllm-router 0.1.17, in chat only: keys below the top level that it does not know. docs/routing.md lists them."""


def _arrived(running: Stack) -> Seen:
    """The newest request that arrived."""
    (*_, seen) = [seen for engine in running.engines for seen in engine.seen]
    return seen


@pytest.mark.parametrize("strategy", ["roundrobin", "prefixaware"])
def test_no_salt_is_added(stack: Callable[..., Stack], strategy: str) -> None:
    """A null would be answered with 400 by engines that have a salt of their own (files/tkc_cache_salt.py)."""
    running = stack(strategy, engines=1)
    for path, body in BODIES.items():
        plain = {key: value for key, value in body.items() if key != "cache_salt"}
        assert running.post(path, plain).status_code == 200
        assert "cache_salt" not in _arrived(running).body, path


@pytest.mark.parametrize("strategy", ["roundrobin", "session", "prefixaware", "kvaware"])
def test_fields_arrive(stack: Callable[..., Stack], strategy: str) -> None:
    """Field by field, in every endpoint, streamed and not; above all the ones that keep tenants apart."""
    running = stack(strategy, engines=1, of_model=SAME_SIZES)
    for path, body in BODIES.items():
        for stream in (False, True):
            sent = {**body, "stream": stream}
            answer = running.post(path, sent)
            assert answer.status_code == 200, answer.text
            got = _arrived(running)
            assert got.path == path
            assert {key: got.body.get(key, "dropped") for key in sent} == sent


def test_messages_arrive(stack: Callable[..., Stack]) -> None:
    running = stack("roundrobin", engines=1)
    answer = running.post(CHAT, {"model": "tiny", "messages": MESSAGES})
    assert answer.status_code == 200, answer.text
    assert _arrived(running).body["messages"] == MESSAGES


@pytest.mark.parametrize(("body", "key"), DROPPED.values(), ids=DROPPED)
def test_known_to_be_dropped(stack: Callable[..., Stack], body: Json, key: str) -> None:
    """Fails as soon as a router passes them on: then they go from docs/routing.md."""
    running = stack("roundrobin", engines=1)
    sent = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], **body}
    assert running.post(CHAT, sent).status_code == 200
    assert _arrived(running).body[key] != sent[key]


def test_headers_arrive(stack: Callable[..., Stack]) -> None:
    """Except with /v1/responses, a bound of vllm-router 0.1.17: no key, so 401 from an engine that asks for one."""
    running = stack("roundrobin", engines=1)
    headers = {"authorization": "Bearer key", "x-session-id": "s1", "x-request-id": "r1"}
    for path in (CHAT, "/v1/completions"):
        running.post(path, BODIES[path], headers)
        assert headers.items() <= _arrived(running).headers.items()
    running.post("/v1/responses", BODIES["/v1/responses"], headers)
    assert not headers.items() & _arrived(running).headers.items()


LONG = prefix("long", 2000)
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
USER = {"role": "user", "content": LONG}
SHAPES: dict[str, tuple[str, Json]] = {
    "string content": (CHAT, {"messages": [{"role": "system", "content": LONG}]}),
    "one text part": (CHAT, {"messages": [{"role": "user", "content": [{"type": "text", "text": LONG}]}]}),
    "two text parts": (
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": t} for t in (LONG, "x")]}]},
    ),
    "tool calls": (
        CHAT,
        {
            "messages": [
                USER,
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
    "responses items": ("/v1/responses", {"input": [{**USER, "content": [{"type": "input_text", "text": LONG}]}]}),
}
UNROUTED: dict[str, tuple[str, Json]] = {
    "image": (
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]},
    ),
    "earlier response": ("/v1/responses", {"input": "more", "previous_response_id": "r1"}),
}
"""Shapes that both strategies spread by load alone: their tokens do not tell what is cached."""


def _ask(running: Stack, shape: tuple[str, Json]) -> Engine:
    before = running.counts()
    answer = running.post(shape[0], {"model": "tiny", **shape[1]})
    assert answer.status_code == 200, answer.text
    return running.grown(before)


@pytest.mark.parametrize("strategy", ["prefixaware", "kvaware"])
def test_shapes_follow_their_prefix(stack: Callable[..., Stack], strategy: str) -> None:
    """The prefix is first brought to the engine that an idle router would not choose, so that staying there is no accident."""
    running = stack(strategy, of_model=SAME_SIZES)
    for engine in running.engines:
        engine.faults.seconds = 0.03
    first, second = running.engines
    for name, shape in SHAPES.items():
        running.set_ready(first, False)
        running.wait_workers()
        assert _ask(running, shape) is second
        running.set_ready(first)
        running.wait_workers()
        where = [_ask(running, shape) for _ in range(20)]
        assert where.count(second) >= 19, name
        for engine in running.engines:
            engine.clear_cache()  # the next shape shares words with this one
        if strategy == "prefixaware":  # whose memory is the router's own
            running.restart_router()


@pytest.mark.parametrize(
    ("strategy", "metric"),
    [
        ("prefixaware", "vllm_router_prefix_routing_decisions_total"),
        ("kvaware", "vllm_router_kv_placement_lookups_total"),
    ],
)
def test_unrouted_shapes_are_served_and_counted(stack: Callable[..., Stack], strategy: str, metric: str) -> None:
    running = stack(strategy, of_model=SAME_SIZES)
    for shape in UNROUTED.values():
        _ask(running, shape)
    label = {"prefixaware": "outcome", "kvaware": "result"}[strategy]
    assert running.router.metric(metric, **{label: "missing_tokens"}) == len(UNROUTED)
