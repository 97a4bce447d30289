"""A few pages over HTTP, each made from what is remembered: a request must never wait for a volume."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

IDLE_SECONDS = 10.0
PLAIN = "text/plain; charset=utf-8"

Page = Callable[[], tuple[int, bytes, str]]
"""Status, body and content type."""


class DualStackServer(ThreadingHTTPServer):
    """Listens on all addresses: IPv6 and, where the system maps it, IPv4. Raises OSError where the port is taken."""

    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("::" if self.address_family == socket.AF_INET6 else "0.0.0.0", port), handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def serve(port: int, pages: Mapping[str, Page]) -> ThreadingHTTPServer:
    """Serve ``pages`` by path in a thread of its own; port 0 takes a free one. Raises OSError."""

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:
            page = pages.get(self.path)
            status, body, kind = page() if page else (404, f"{', '.join(pages)}\n".encode(), PLAIN)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe every few seconds is no news."""

    server = DualStackServer(port, Handler)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server
