"""/metrics, /healthz and /status, from what is remembered."""

from __future__ import annotations

import json
from http.server import ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from .. import webserver
from . import metrics
from .state import State


def serve(state: State, port: int) -> ThreadingHTTPServer:
    """Start a server in a thread of its own; port 0 takes a free one. Raises OSError."""
    found = metrics.registry(state)

    def health() -> tuple[int, bytes, str]:
        seconds, what = state.stuck()
        text = f"the volume has not answered for {seconds:.0f} s: {what}\n" if seconds else "ok\n"
        return 200 if state.healthy() else 503, text.encode(), webserver.PLAIN

    return webserver.serve(port, {
        "/metrics": lambda: (200, generate_latest(found), CONTENT_TYPE_LATEST),
        "/healthz": health,
        "/status": lambda: (200, json.dumps(state.as_json()).encode(), "application/json"),
    })  # fmt: skip
