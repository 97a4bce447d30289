"""Two answers of a vLLM server that the router's policy kv_aware asks each engine for, as a vLLM --middleware.

The router (vllm-router 0.1.17) finds the engines through the Kubernetes API and asks each one, once, how to follow its cache:
GET /get_server_info, which vLLM does not have, and GET /kv_event_sources, where vLLM (0.32) leaves out the encoding and the
version of the events, without which the router takes no source. Both describe what the engine was started with; nothing of
a request is read or changed. Only the standard library is used, since this runs in any vLLM image.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

INSTANCE = f"{os.environ.get('POD_NAME', 'engine')}-{time.time_ns():x}"
"""A new one with each start of the process: blocks of the process before must not be credited to this one."""


def server_info(state: Any) -> dict[str, Any]:
    """What identifies the cache: served model, this process, tokens of a block. `state` is the FastAPI application's."""
    config = state.vllm_config
    names = getattr(state.args, "served_model_name", None)
    return {
        "model_id": names[0] if names else config.model_config.model,
        "instance_id": INSTANCE,
        "kv_block_size": config.cache_config.block_size,
    }


def event_sources(state: Any) -> dict[str, Any]:
    """Publisher of each data-parallel rank, with what the router needs to know about the wire format."""
    client = state.engine_client
    if hasattr(client, "get_kv_event_sources"):
        ranks = client.get_kv_event_sources()
    else:  # vLLM before this method: what was asked for is what runs, at rank 0
        config = state.vllm_config.kv_events_config
        ranks = {0: config} if config else {}
    return {
        str(rank): {**dataclasses.asdict(config), "encoding": "msgpack", "schema_version": 1}
        for rank, config in ranks.items()
    }


ANSWERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "/get_server_info": server_info,
    "/kv_event_sources": event_sources,
}


class KvDiscovery:
    """ASGI middleware: answers the two paths, passes all else on untouched."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = ANSWERS.get(scope.get("path", "")) if scope["type"] == "http" and scope["method"] == "GET" else None
        if answer is None:
            await self.app(scope, receive, send)
            return
        body = json.dumps(answer(scope["app"].state)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
