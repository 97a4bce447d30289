"""HTTPS for one kind of request: POST with a body, over connections that are kept."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from ..webserver import DualStackServer
from .tls import Certificate

IDLE_SECONDS = 120.0
"""Longer than the API server keeps an unused connection (90 s): else it may send into one that ends at that moment."""
HANDSHAKE_SECONDS = 5.0
MOST_BYTES = 8 << 20
"""Of a body. The API server takes objects of at most 3 MiB, and sends no more than two."""
MOST_CONNECTIONS = 256
JSON, PLAIN = "application/json", "text/plain; charset=utf-8"

Reply = tuple[int, bytes, str]
"""Status, body, content type."""
Handle = Callable[[str, bytes], Reply]
"""Takes path and body."""


class HttpsServer(DualStackServer):
    """Serves in threads, one a connection.

    Args:
        port: to listen on; 0 takes a free one.
        certificate: asked for at each new connection.
        handle: answers a request; it must not raise.
        leaving: set: each answer ends its connection, so that the client goes elsewhere.

    Raises:
        OSError: the port is taken.
    """

    request_queue_size = 128

    def __init__(self, port: int, certificate: Certificate, handle: Handle, leaving: threading.Event) -> None:
        self._certificate = certificate
        self._slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._idle = threading.Condition()
        self._busy = 0
        self.handle, self.leaving = handle, leaving
        super().__init__(port, _Handler)

    def start(self) -> None:
        """Serve in a thread of its own."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, name="https", daemon=True).start()

    def drain(self, seconds: float) -> bool:
        """Accept nothing more, and wait for requests under way; whether all have ended in time."""
        self.shutdown()
        self.server_close()
        with self._idle:
            return self._idle.wait_for(lambda: not self._busy, seconds)

    @contextlib.contextmanager
    def request(self) -> Any:
        """Around each request that is being answered."""
        with self._idle:
            self._busy += 1
        try:
            yield
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def process_request(self, request: Any, client_address: Any) -> None:
        """See socketserver: one thread a connection, and no more than MOST_CONNECTIONS."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """See socketserver. The handshake is here: a client that never ends it must not keep others waiting."""
        try:
            if (context := self._certificate.context()) is None:
                self.shutdown_request(request)
                return
            request.settimeout(HANDSHAKE_SECONDS)
            try:
                secure = context.wrap_socket(request, server_side=True)
            except OSError:
                self.shutdown_request(request)
                return
            super().process_request_thread(secure, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: HttpsServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = 65536

    def do_POST(self) -> None:
        with self.server.request():
            self._answer(*self._reply())

    def do_GET(self) -> None:
        self._answer(405, b"POST an AdmissionReview\n", PLAIN)

    def _reply(self) -> Reply:
        text = self.headers.get("Content-Length", "")
        if not text.isascii() or not text.isdigit():
            self.close_connection = True
            return 411, b"a body with Content-Length is needed\n", PLAIN
        if (length := int(text)) > MOST_BYTES:
            self.close_connection = True
            return 413, f"the body has {length} bytes, and {MOST_BYTES} are the most\n".encode(), PLAIN
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return 400, b"the body is shorter than its Content-Length\n", PLAIN
        return self.server.handle(self.path, body)

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.close_connection = self.close_connection or self.server.leaving.is_set()
        self.send_response_only(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """What matters of a request is logged by whoever answers it."""
