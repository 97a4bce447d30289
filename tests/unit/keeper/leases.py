"""A small API server for Leases and events over real HTTP: optimistic locking as the real one has it."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LEASE = re.compile(r"/apis/coordination\.k8s\.io/v1/namespaces/([^/]+)/leases(?:/([^/]+))?")


class LeaseServer:
    """``leases`` by namespace and name; ``events`` as posted; ``down``: answers 500."""

    def __init__(self) -> None:
        self.leases: dict[tuple[str, str], dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.down = False
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(*owner.answer("GET", self.path, None))

            def do_POST(self) -> None:
                self._reply(*owner.answer("POST", self.path, self._body()))

            def do_PUT(self) -> None:
                self._reply(*owner.answer("PUT", self.path, self._body()))

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

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """One request."""
        if self.down:
            return 500, {"message": "down"}
        if path.endswith("/events") and body is not None:
            self.events.append(body)
            return 201, body
        found = _LEASE.fullmatch(path)
        if found is None:
            return 404, {}
        with self._lock:
            key = (found[1], found[2] or (body or {})["metadata"]["name"])
            now = self.leases.get(key)
            if body is None:
                return (200, now) if now else (404, {})
            version = int(now["metadata"]["resourceVersion"]) if now else 0
            if (method == "POST") == bool(now) or (now and body["metadata"].get("resourceVersion") != str(version)):
                return 409, {"message": "the object has been modified"}
            self.leases[key] = json.loads(json.dumps(body))
            self.leases[key]["metadata"]["resourceVersion"] = str(version + 1)
            return 200, self.leases[key]
