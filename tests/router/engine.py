"""An engine on a loopback address, as far as a router sees one: requests, tokens, blocks in a cache, events about them.

It computes nothing. Tokens are words; a block is cached by the hash of all tokens up to its end, as in vLLM; what a request
found in the cache is what the tests look at. The answers to the router's questions come from the chart's own middleware.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import select
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

from router.events import Publisher, PublisherConfig
from router.places import CHART

Json = dict[str, Any]

PORT = 8000
"""The port of every engine in the chart; engines differ by address."""


def _middleware() -> Any:
    spec = importlib.util.spec_from_file_location("tkc_kv_discovery", CHART / "files" / "tkc_kv_discovery.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DISCOVERY = _middleware()


def tokens(text: str) -> list[int]:
    """One token a word; the same word is the same token in every process."""
    return [zlib.crc32(word.encode()) % 30_000 for word in text.split()]


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    body: Json
    headers: dict[str, str]
    cached: int
    """Tokens of the prompt that lay in the cache."""


@dataclass
class Faults:
    """How the engine misbehaves; the defaults are a healthy one."""

    status: int | None = None
    """Answer of all generating paths, instead of a completion."""
    seconds: float = 0.0
    """Time between the events about a prompt's blocks and the first byte of the answer."""
    chunks: int = 3
    """Chunks of a stream."""
    chunk_seconds: float = 0.0
    cut_after: int | None = None
    """The connection breaks after so many chunks."""
    ready: bool = True
    """/health answers 200."""
    render: bool = True
    """<path>/render exists; without it there is /tokenize alone."""


@dataclass
class Engine:
    """An engine at an address of its own.

    Args:
        address: an address of 127/8, or ::1.
        block_size: tokens of a block.
        events: publish cache events, on the ports that the chart names.
    """

    address: str
    block_size: int = 128
    events: bool = False
    model: str = "tiny"
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        self.seen: list[Seen] = []
        self.asked: list[str] = []
        """Paths of questions that generate nothing (render, tokenize, discovery)."""
        self.aborted = 0
        self._cache: dict[bytes, None] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._publisher: Publisher | None = None

    @property
    def url(self) -> str:
        return f"http://[{self.address}]:{PORT}" if ":" in self.address else f"http://{self.address}:{PORT}"

    # Life

    def start(self) -> Engine:
        """Listen; with events, publish from sequence number 0, as a new process does."""
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                engine._get(self)

            def do_POST(self) -> None:
                engine._post(self)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._connections: list[socket.socket] = []

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in engine.address else socket.AF_INET
            daemon_threads = True
            request_queue_size = 512

            def get_request(self) -> tuple[Any, Any]:
                connection, peer = super().get_request()
                engine._connections.append(connection)
                return connection, peer

        self._instance = f"{self.address}-{time.monotonic_ns()}"
        if self.events:
            self._publisher = Publisher(self.address)
        self._server = Server((self.address, PORT), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        """End at once, as kill -9: connections break, the cache is lost."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                    connection.close()
                except OSError:
                    continue
            self._server = None
        if self._publisher:
            self._publisher.close()
            self._publisher = None
        self._cache.clear()

    def restart(self) -> None:
        """A new process at the same address."""
        self.stop()
        self.start()

    def clear_cache(self) -> None:
        """What POST /reset_prefix_cache does."""
        with self._lock:
            self._cache.clear()
            if self._publisher:
                self._publisher.cleared()

    # The cache

    def _blocks(self, ids: list[int]) -> Iterator[tuple[bytes, list[int]]]:
        digest = b""
        for end in range(self.block_size, len(ids) + 1, self.block_size):
            block = ids[end - self.block_size : end]
            digest = hashlib.sha256(digest + repr(block).encode()).digest()
            yield digest, block

    def _prefill(self, ids: list[int]) -> int:
        """Cache a prompt; the number of its tokens that were there."""
        with self._lock:
            found, parent, new = 0, None, False
            for digest, block in self._blocks(ids):
                if digest in self._cache and not new:
                    found += len(block)
                elif digest not in self._cache:
                    new = True
                    self._cache[digest] = None
                    if self._publisher:
                        self._publisher.stored(digest, parent, block)
                parent = digest
            return found

    def holds(self, prompt: str) -> int:
        """Leading tokens of a prompt that lie in the cache."""
        found = 0
        for digest, block in self._blocks(tokens(prompt)):
            if digest not in self._cache:
                break
            found += len(block)
        return found

    # HTTP

    def _get(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.split("?")[0]
        if path == "/health":
            _answer(request, 200 if self.faults.ready else 503, {})
        elif path == "/v1/models":
            _answer(request, 200, {"object": "list", "data": [{"id": self.model, "object": "model"}]})
        elif self.events and path in DISCOVERY.ANSWERS:
            self.asked.append(path)
            answer = DISCOVERY.ANSWERS[path](self._state())
            _answer(request, 200, {**answer, "instance_id": self._instance} if "instance_id" in answer else answer)
        else:
            _answer(request, 404, {"detail": "Not Found"})

    def _state(self) -> SimpleNamespace:
        """vLLM's application state, as far as the middleware reads it."""
        config = SimpleNamespace(
            cache_config=SimpleNamespace(block_size=self.block_size), model_config=SimpleNamespace(model="/models/x")
        )
        client = SimpleNamespace(get_kv_event_sources=lambda: {0: PublisherConfig()})
        return SimpleNamespace(
            vllm_config=config, args=SimpleNamespace(served_model_name=[self.model]), engine_client=client
        )

    def _post(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers.get("content-length") or 0)) or b"{}")
        path = request.path.split("?")[0]
        if path.endswith("/render") and self.faults.render:
            self.asked.append(path)
            rendered = [{"token_ids": ids} for ids in _prompts(body)]
            _answer(request, 200, rendered if path == "/v1/completions/render" else rendered[0])
        elif path == "/tokenize":
            self.asked.append(path)
            (ids,) = _prompts(body)
            _answer(request, 200, {"tokens": ids, "count": len(ids), "max_model_len": 1_000_000})
        elif path in ("/v1/chat/completions", "/v1/completions", "/v1/responses"):
            self._generate(request, path, body)
        else:
            _answer(request, 404, {"detail": "Not Found"})

    def _generate(self, request: BaseHTTPRequestHandler, path: str, body: Json) -> None:
        faults = self.faults
        headers = {name.lower(): value for name, value in request.headers.items()}
        cached = sum(self._prefill(ids) for ids in _prompts(body)) if faults.status is None else 0
        self.seen.append(Seen(path, body, headers, cached))
        if self._gone(request, faults.seconds):
            return
        if faults.status is not None:
            _answer(request, faults.status, {"error": {"message": f"stub says {faults.status}", "code": faults.status}})
        elif body.get("model") not in (None, self.model):
            _answer(request, 404, {"error": {"message": f"The model `{body['model']}` does not exist.", "code": 404}})
        elif not body.get("stream"):
            _answer(request, 200, {"object": "stub", "model": self.model, "choices": [{"index": 0, "text": "ok"}]})
        else:
            self._stream(request, faults)

    def _stream(self, request: BaseHTTPRequestHandler, faults: Faults) -> None:
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.send_header("transfer-encoding", "chunked")
        request.end_headers()
        for number in range(faults.chunks):
            if faults.cut_after == number:
                request.connection.shutdown(socket.SHUT_RDWR)
                request.close_connection = True
                return
            chunk = json.dumps({"model": self.model, "choices": [{"index": 0, "text": f"t{number} "}]})
            _chunk(request, f"data: {chunk}\n\n")
            if self._gone(request, faults.chunk_seconds):
                return
        _chunk(request, "data: [DONE]\n\n")
        request.wfile.write(b"0\r\n\r\n")

    def _gone(self, request: BaseHTTPRequestHandler, seconds: float) -> bool:
        """Wait; true as soon as the client hangs up."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([request.connection], [], [], min(left, 0.05))
            if readable and not request.connection.recv(1, socket.MSG_PEEK):
                self.aborted += 1
                request.close_connection = True
                return True
        return False


def _chunk(request: BaseHTTPRequestHandler, text: str) -> None:
    data = text.encode()
    request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    request.wfile.flush()


def _answer(request: BaseHTTPRequestHandler, status: int, body: Any) -> None:
    data = json.dumps(body).encode()
    request.send_response(status)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)


def _prompts(body: Json) -> list[list[int]]:
    """Tokens of each prompt of a request, in every shape that vLLM takes."""
    if "messages" in body:
        return [tokens(" ".join(_message(each) for each in body["messages"]))]
    if "input" in body:
        given = body["input"]
        return [tokens(given if isinstance(given, str) else " ".join(_message(each) for each in given))]
    prompt = body.get("prompt", "")
    if isinstance(prompt, str):
        return [tokens(prompt)]
    if prompt and isinstance(prompt[0], int):
        return [prompt]
    return [tokens(each) if isinstance(each, str) else each for each in prompt]


def _message(message: Json) -> str:
    content = message.get("content")
    text = content if isinstance(content, str) else " ".join(part.get("text", "") for part in content or [])
    return f"<{message.get('role')}> {text} {json.dumps(message['tool_calls']) if message.get('tool_calls') else ''}"
