"""/metrics, /healthz and /status, from what is remembered."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from . import metrics
from .state import State

IDLE_SECONDS = 10.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # IPv6 and, where the system maps it, IPv4.
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def serve(state: State, port: int) -> ThreadingHTTPServer:
    """Start a server in a thread of its own; port 0 takes a free one. Raises OSError."""
    found = metrics.registry(state)

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, generate_latest(found), CONTENT_TYPE_LATEST)
            elif self.path == "/healthz":
                seconds, what = state.stuck()
                text = f"the volume has not answered for {seconds:.0f} s: {what}\n" if seconds else "ok\n"
                self._answer(200 if state.healthy() else 503, text.encode(), "text/plain; charset=utf-8")
            elif self.path == "/status":
                self._answer(200, json.dumps(state.as_json()).encode(), "application/json")
            else:
                self._answer(404, b"/metrics, /healthz, /status\n", "text/plain")

        def log_message(self, format: str, *args: object) -> None:
            """A probe every few seconds is no news."""

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = _Server(("::" if _Server.address_family == socket.AF_INET6 else "0.0.0.0", port), Handler)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server
