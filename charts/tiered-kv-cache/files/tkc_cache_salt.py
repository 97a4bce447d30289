"""The cache salt of a line of business, set by the server: a vLLM --middleware.

vLLM and LMCache put a request's `cache_salt` into the names of its blocks, so that nobody hits blocks of another salt. This
sets it in each request that computes: HMAC-SHA256, keyed by the secret of the line of business, of what the client gave as
its own salt ("" without one). So clients of one line of business may part themselves, and none can name another one's
blocks without its secret. A salt that is no text of 1 to 128 characters is answered with 400; malformed bodies are vLLM's to
answer. Only the standard library is used, since this runs in any vLLM image.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ENV_SECRET = "TKC_CACHE_SALT"
LEAST_SECRET = 16
"""Characters of a secret that are not guessed."""
MOST_SALT = 128
"""Characters of a client's salt, as in vLLM."""
SALTED = frozenset(
    {
        "/v1/chat/completions",
        "/v1/chat/completions/batch",
        "/v1/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/systemone",
        "/v1/embeddings",
        "/v2/embed",
        "/v1/score",
        "/score",
        "/v1/rerank",
        "/v2/rerank",
        "/rerank",
        "/classify",
        "/pooling",
        "/generative_scoring",
        "/inference/v1/generate",
        "/invocations",
    }
)
"""Paths of vLLM 0.32 that compute and read `cache_salt`."""
UNSALTED = frozenset({"/cohere/v2/chat", "/v1/audio/transcriptions", "/v1/audio/translations"})
"""Paths of vLLM 0.32 that compute and read none: their blocks would be everybody's."""


class BadSalt(ValueError):
    """A client's salt that cannot be used; the text is for the client."""


def key_of(secret: str | None) -> bytes:
    """The key of all salts. Raises RuntimeError, which ends the server before it serves anything unsalted."""
    text = (secret or "").strip()
    if len(text) < LEAST_SECRET:
        raise RuntimeError(
            f"the cache salt's Secret holds {len(text)} characters; {LEAST_SECRET} at least. Fix: put random text into it, "
            "for example of: openssl rand -hex 32"
        )
    return text.encode()


def derived(key: bytes, own: str) -> str:
    """The salt that vLLM gets: 64 hexadecimal digits."""
    return hmac.new(key, own.encode(), hashlib.sha256).hexdigest()


def own_salt(body: dict[str, Any]) -> str:
    """The client's own salt; "" if it gives none. Raises BadSalt."""
    if "cache_salt" not in body:
        return ""
    salt = body["cache_salt"]
    if not isinstance(salt, str) or not 1 <= len(salt) <= MOST_SALT:
        raise BadSalt(
            f"cache_salt must be a text of 1 to {MOST_SALT} characters; leave it out to have none of your own"
        )
    try:
        salt.encode()
    except UnicodeEncodeError:
        raise BadSalt("cache_salt holds half a character (a lone surrogate)") from None
    return salt


def salted(chunks: list[bytes], key: bytes) -> list[bytes]:
    """A request's body with the salt in it; the chunks themselves where it is none that vLLM would take. Raises BadSalt.

    ``chunks``: none is empty. A body without a salt, which most are, gets it right behind its first brace, and its other chunks
    go on as they came.
    """
    whole = b"".join(chunks)
    try:
        # The same reader as vLLM's, so that both see the same.
        body = json.loads(whole)
    except (ValueError, RecursionError):
        return chunks
    if not isinstance(body, dict):
        return chunks
    salt = derived(key, own_salt(body))
    if body and "cache_salt" not in body and whole[:1] == b"{" and whole[1:2] != b"\x00":
        return [f'{{"cache_salt":"{salt}",'.encode(), chunks[0][1:], *chunks[1:]]
    # Written anew in whole: the client's salt may stand there several times, or in another encoding.
    body["cache_salt"] = salt
    try:
        return [json.dumps(body).encode()]
    except RecursionError:
        raise BadSalt("the body is nested too deep to have a cache_salt") from None


def refusal(why: str) -> tuple[Message, Message]:
    """An answer as vLLM's own."""
    error = {"message": why, "type": "BadRequestError", "param": "cache_salt", "code": 400}
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    return (
        {"type": "http.response.start", "status": 400, "headers": headers},
        {"type": "http.response.body", "body": body},
    )


def path_of(scope: Scope) -> str:
    """The path below --root-path, as vLLM's router sees it."""
    path, root = str(scope.get("path", "")), str(scope.get("root_path", "")).rstrip("/")
    return path[len(root) :] if root and path.startswith(root + "/") else path


class _Salting:
    """One request: its body is read when vLLM asks for it, so that nobody without a key makes this read anything."""

    def __init__(self, key: bytes, receive: Receive, send: Send) -> None:
        self._key, self._receive, self._send = key, receive, send
        self._ready: list[Message] | None = None
        self.refused = ""

    async def receive(self) -> Message:
        """What the server sent, the body salted."""
        if self._ready is None:
            self._ready = await self._read()
        return self._ready.pop(0) if self._ready else await self._receive()

    async def _read(self) -> list[Message]:
        chunks: list[bytes] = []
        more = True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                return [message]
            if part := message.get("body", b""):
                chunks.append(part)
            more = message.get("more_body", False)
        try:
            chunks = salted(chunks, self._key)
        except BadSalt as err:
            self.refused = str(err)
            # vLLM takes it for a client that left; what it says then is not sent.
            return [{"type": "http.disconnect"}]
        last = len(chunks) - 1
        return [
            {"type": "http.request", "body": part, "more_body": at < last} for at, part in enumerate(chunks or [b""])
        ]

    async def send(self, message: Message) -> None:
        """vLLM's answer, chunk by chunk, unless the salt was refused."""
        if not self.refused:
            await self._send(message)


class CacheSalt:
    """ASGI middleware: salts what computes, passes all else on untouched."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._key = key_of(os.environ.get(ENV_SECRET))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and path_of(scope) == "/v1/realtime":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        path = path_of(scope) if scope["type"] == "http" and scope["method"] == "POST" else ""
        if path in UNSALTED:
            for message in refusal(f"{path} takes no cache salt, and this server answers nothing without one"):
                await send(message)
            return
        if path not in SALTED:
            await self.app(scope, receive, send)
            return
        request = _Salting(self._key, receive, send)
        try:
            await self.app(scope, request.receive, request.send)
        except Exception:
            if not request.refused:
                raise
        if request.refused:
            for message in refusal(request.refused):
                await send(message)
