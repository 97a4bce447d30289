"""JSON over real HTTP, as an API server speaks it, for tests of what talks to one."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JsonServer:
    """Hands each request to ``answer``, which a subclass has. ``lock``: for its state."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(*owner.answer("GET", self.path, None))

            def do_POST(self) -> None:
                self._reply(*owner.answer("POST", self.path, self._body()))

            def do_PUT(self) -> None:
                self._reply(*owner.answer("PUT", self.path, self._body()))

            def do_PATCH(self) -> None:
                kind = self.headers["Content-Type"]
                # What a dictionary without a list in it means is the same in both.
                body: Any = self._body()
                merges = ("application/merge-patch+json", "application/strategic-merge-patch+json")
                assert kind in (("application/json-patch+json",) if isinstance(body, list) else merges), kind
                self._reply(*owner.answer("PATCH", self.path, body))

            def do_DELETE(self) -> None:
                self._reply(*owner.answer("DELETE", self.path, None))

            def log_message(self, format: str, *args: object) -> None:
                pass

            def _body(self) -> dict[str, Any]:
                found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                return found

            def _reply(self, status: int, body: dict[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """Status and body for one request."""
        raise NotImplementedError

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
