"""A server around the cache salt's middleware, as far as one sees it: it reads a body as Starlette does, and streams an answer."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[3] / "charts" / "tiered-kv-cache" / "files" / "tkc_cache_salt.py"
SECRET = "0123456789abcdef" * 2
CHAT = "/v1/chat/completions"


def module() -> Any:
    """The middleware's module, loaded as vLLM does: by its file alone."""
    spec = importlib.util.spec_from_file_location("tkc_cache_salt", FILE)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Disconnected(Exception):
    """What Starlette raises when a client leaves while its body is read."""


@dataclass
class Server:
    """The application: ``bodies``, raw, as they arrived; ``asked``: how often it read at all."""

    reads: bool = True
    breaks: bool = False
    bodies: list[bytes] = field(default_factory=list)
    chunks: list[list[bytes]] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """An answer of three pieces; 400 where the body could not be read, as FastAPI has it."""
        if self.reads:
            parts: list[bytes] = []
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    if self.breaks:
                        raise Disconnected
                    await send({"type": "http.response.start", "status": 400, "headers": []})
                    await send({"type": "http.response.body", "body": b"There was an error parsing the body"})
                    return
                parts.append(message.get("body", b""))
                more = message.get("more_body", False)
            self.chunks.append(parts)
            self.bodies.append(b"".join(parts))
            self.after.append((await receive())["type"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
        for piece in (b"one", b"two"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"three"})


@dataclass(frozen=True)
class Answer:
    """What the client got, message by message."""

    sent: list[Any]

    @property
    def status(self) -> int:
        """HTTP status."""
        (start,) = [each for each in self.sent if each["type"] == "http.response.start"]
        return int(start["status"])

    @property
    def pieces(self) -> list[bytes]:
        """Pieces of the body, as they were sent."""
        return [each["body"] for each in self.sent if each["type"] == "http.response.body"]

    @property
    def error(self) -> Any:
        """The error of an answer in OpenAI's shape."""
        return json.loads(b"".join(self.pieces))["error"]


def ask(
    middleware: Any, *chunks: bytes, path: str = CHAT, method: str = "POST", kind: str = "http", root: str = ""
) -> Answer:
    """One request, its body in these chunks, and the client's leaving behind it."""
    last = len(chunks) - 1
    waiting = [
        {"type": "http.request", "body": chunk, "more_body": number < last} for number, chunk in enumerate(chunks)
    ]
    if kind == "websocket":
        waiting = [{"type": "websocket.connect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": kind, "method": method, "path": path, "root_path": root, "headers": []}
    asyncio.run(middleware(scope, receive, send))
    return Answer(sent)
