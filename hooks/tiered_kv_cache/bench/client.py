"""Asks an OpenAI-compatible endpoint side by side with others, and times every token of the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx

from ..engine import EngineError, event_of, greedy
from ..http import BadAnswer, Unreachable, reason

Prompt = list[int] | str | list[dict[str, str]]
"""Token ids, a text, or the messages of a chat."""
IDLE_SECONDS = 4.0
"""How long an unused connection is kept. vLLM ends one after 5 s (VLLM_HTTP_TIMEOUT_KEEP_ALIVE); who sends into that moment gets no
answer, and a prompt is never sent twice."""


@dataclass(frozen=True)
class Answer:
    """A finished answer. Times in milliseconds: ``ttft_ms`` from sending to the first token, ``gaps_ms`` from one event
    with text to the next, ``total_ms`` to the end of the stream. Numbers of tokens are None where the endpoint gives none.
    """

    text: str
    ttft_ms: float
    gaps_ms: tuple[float, ...]
    total_ms: float
    prompt_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


class Client:
    """One endpoint. Nothing is sent twice: a second try would find a warm cache."""

    def __init__(self, base_url: str, model: str, key: str = "") -> None:
        """``model``: the served name; ``key``: the API key, if the endpoint asks for one."""
        self.base_url, self.model = base_url.rstrip("/"), model
        # Addresses of Pods are never reached through a proxy.
        self._client = httpx.AsyncClient(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_SECONDS),
            trust_env=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def connect(self, connections: int = 1) -> list[float]:
        """Open so many connections, so that no measured request pays for one; milliseconds of each. Raises Unreachable."""

        async def ask() -> float:
            try:
                return await self._touch()
            except httpx.RemoteProtocolError:
                # The other side had just ended it; a new one follows.
                return await self._touch()

        try:
            return list(await asyncio.gather(*(ask() for _ in range(connections))))
        except httpx.HTTPError as err:
            raise Unreachable(f"{self.base_url}/v1/models: {reason(err)}") from err

    async def _touch(self) -> float:
        """A request that computes nothing; its milliseconds."""
        begin = time.perf_counter()
        await self._client.get("/v1/models", timeout=15)
        return (time.perf_counter() - begin) * 1000

    async def ask(self, prompt: Prompt, max_tokens: int, timeout: float) -> Answer:
        """One answer, within ``timeout`` seconds. Raises Unreachable, BadAnswer or EngineError."""
        body = greedy(self.model, max_tokens)
        if isinstance(prompt, list) and prompt and isinstance(prompt[0], dict):
            path, body = "/v1/chat/completions", body | {"messages": prompt}
        else:
            path, body = "/v1/completions", body | {"prompt": prompt}
        try:
            async with asyncio.timeout(timeout):
                return await self._stream(path, body, timeout)
        except TimeoutError as err:
            raise Unreachable(f"{self.base_url}{path}: no answer in {timeout:.0f} s") from err
        except httpx.HTTPError as err:
            raise Unreachable(f"{self.base_url}{path}: {reason(err)}") from err

    async def _stream(self, path: str, body: dict[str, Any], timeout: float) -> Answer:
        texts: list[str] = []
        at: list[float] = []
        usage: dict[str, Any] = {}
        start = time.perf_counter()
        async with self._client.stream("POST", path, json=body, timeout=timeout) as response:
            if response.status_code >= 400:
                text = (await response.aread()).decode(errors="replace")
                raise BadAnswer(self.base_url + path, response.status_code, text)
            async for line in response.aiter_lines():
                event = event_of(line)
                if event is None:
                    continue
                for text in _texts(event.get("choices") or []):
                    at.append(time.perf_counter())
                    texts.append(text)
                usage = event.get("usage") or usage
        if not at:
            raise EngineError(f"{self.base_url}{path} ended without a single token")
        details = usage.get("prompt_tokens_details") or {}
        return Answer(
            text="".join(texts),
            ttft_ms=(at[0] - start) * 1000,
            gaps_ms=tuple((b - a) * 1000 for a, b in pairwise(at)),
            total_ms=(time.perf_counter() - start) * 1000,
            prompt_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            cached_tokens=details.get("cached_tokens"),
        )


def _texts(choices: Sequence[dict[str, Any]]) -> list[str]:
    """The texts of an event, also empty ones (half a character); the first event of a chat has a role and is no token."""
    found = []
    for choice in choices:
        delta = choice.get("delta")
        if delta is None:
            found.append(str(choice.get("text") or ""))
        elif "role" not in delta or delta.get("content"):
            found.append(str(delta.get("content") or ""))
    return found
