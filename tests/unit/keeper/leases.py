"""A small API server for Leases and events over real HTTP: optimistic locking as the real one has it."""

from __future__ import annotations

import json
import re
from typing import Any

from emulators.apiserver import JsonServer

_LEASE = re.compile(r"/apis/coordination\.k8s\.io/v1/namespaces/([^/]+)/leases(?:/([^/]+))?")


class LeaseServer(JsonServer):
    """``leases`` by namespace and name; ``events`` as posted; ``down``: answers 500."""

    def __init__(self) -> None:
        super().__init__()
        self.leases: dict[tuple[str, str], dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.down = False

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
        with self.lock:
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
