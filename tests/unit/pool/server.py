"""A small API server for claims, Pods' annotations and events over real HTTP: optimistic locking as the real one has it."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from kubernetes import client

from emulators.apiserver import JsonServer
from tiered_kv_cache import names
from tiered_kv_cache.keeper.kube import KubernetesApi

_OBJECT = re.compile(r"/api/v1/namespaces/kv/(persistentvolumeclaims|pods)/([^/]+)")


class PoolServer(JsonServer):
    """``status``: answer of everything, where it is set; ``asked``: methods and names in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []
        self.status = 0
        self.conflicts = 0

    def claim(self, name: str, uid: str = "", annotation: str | None = None, going: bool = False) -> None:
        """Make one, new; its uid is ``uid`` or made of its name."""
        about: dict[str, Any] = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": "1"}
        if annotation is not None:
            about["annotations"] = {names.ANNOTATION_MEMBERS: annotation}
        if going:
            about["deletionTimestamp"] = "2026-11-30T11:00:00Z"
        self.objects["persistentvolumeclaims", name] = {"metadata": about}

    def members(self, name: str) -> dict[str, Any] | None:
        """A claim's annotation, parsed."""
        about = self.objects.get(("persistentvolumeclaims", name), {}).get("metadata", {})
        text = about.get("annotations", {}).get(names.ANNOTATION_MEMBERS)
        found: dict[str, Any] | None = None if text is None else json.loads(text)
        return found

    def answer(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """One request."""
        with self.lock:
            self.asked.append((method, path.rpartition("/")[2]))
            if self.status:
                return self.status, {"message": "as the test says"}
            if method == "POST" and path == "/api/v1/namespaces/kv/events" and body is not None:
                self.events.append(body)
                return 201, body
            found = _OBJECT.fullmatch(path)
            if found is None or method not in ("GET", "PATCH"):
                return 405, {}
            now = self.objects.get((found[1], found[2]))
            if now is None:
                return 404, {}
            return (200, now) if body is None else self._patch(now, body)

    def _patch(self, now: dict[str, Any], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        about, change = now["metadata"], copy.deepcopy(body["metadata"])
        if self.conflicts:
            # Another one, such as the volume controller, was first.
            self.conflicts -= 1
            about["resourceVersion"] = str(int(about["resourceVersion"]) + 1)
        asked = change.pop("resourceVersion", about["resourceVersion"])
        if asked != about["resourceVersion"]:
            return 409, {"message": "the object has been modified"}
        about["resourceVersion"] = str(int(about["resourceVersion"]) + 1)
        about.setdefault("annotations", {}).update(change.pop("annotations"))
        assert not change, "nothing else is patched"
        return 200, now


def api(server: PoolServer) -> KubernetesApi:
    """The official client to it."""
    settings = client.Configuration(host=server.url)
    settings.retries = False
    return KubernetesApi(client.ApiClient(settings))
