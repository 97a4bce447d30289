"""The Kubernetes API as far as the router's service discovery asks it: list and watch the Pods of one namespace."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

Json = dict[str, Any]


class PodApi:
    """Pods of one namespace, with their labels, addresses and readiness; every change goes to the watchers."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._pods: dict[str, Json] = {}
        self._version = 100
        self._lock = threading.Lock()
        self._watchers: list[queue.Queue[Json | None]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                api._get(self)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        """End the watches and the server."""
        for watcher in self._watchers:
            watcher.put(None)
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for it."""
        port = self._server.server_address[1]
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "stub", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "stub", "user": {"token": "stub"}}],
            "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub", "namespace": self.namespace}}],
            "current-context": "stub",
        }
        path.write_text(yaml.safe_dump(config))
        return path

    # Pods

    def put(self, name: str, address: str, labels: dict[str, str], ready: bool = True, incarnation: int = 0) -> None:
        """Add a Pod or change it. Another `incarnation` is another Pod of that name."""
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        metadata = {"name": name, "namespace": self.namespace, "uid": f"{name}-{incarnation}", "labels": labels}
        pod: Json = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": []},
            "status": {"phase": "Running", "podIP": address, "conditions": [condition]},
        }
        with self._lock:
            known = name in self._pods
            self._change("MODIFIED" if known else "ADDED", name, pod)

    def terminate(self, name: str) -> None:
        """What `kubectl delete pod` shows first: a deletion time on a Pod that still answers."""
        with self._lock:
            pod = json.loads(json.dumps(self._pods[name]))
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self._change("MODIFIED", name, pod)

    def delete(self, name: str) -> None:
        """The Pod is gone."""
        with self._lock:
            self._change("DELETED", name, self._pods[name])

    def _change(self, kind: str, name: str, pod: Json) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        if kind == "DELETED":
            del self._pods[name]
        else:
            self._pods[name] = pod
        for watcher in self._watchers:
            watcher.put({"type": kind, "object": pod})

    # HTTP

    def _get(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        if parts.path != f"/api/v1/namespaces/{self.namespace}/pods":
            request.send_error(404)
            return
        if parse_qs(parts.query).get("watch") == ["true"]:
            self._watch(request)
            return
        with self._lock:
            items = list(self._pods.values())
            found = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": str(self._version)}}
            data = json.dumps({**found, "items": items}).encode()
        request.send_response(200)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        with contextlib.suppress(OSError):  # a router that was ended meanwhile
            request.wfile.write(data)

    def _watch(self, request: BaseHTTPRequestHandler) -> None:
        since = int(parse_qs(urlsplit(request.path).query).get("resourceVersion", ["0"])[0] or 0)
        events: queue.Queue[Json | None] = queue.Queue()
        with self._lock:
            for pod in self._pods.values():  # between the list and this watch
                if int(pod["metadata"]["resourceVersion"]) > since:
                    events.put({"type": "ADDED", "object": pod})
            self._watchers.append(events)
        request.send_response(200)
        request.send_header("content-type", "application/json")
        request.send_header("transfer-encoding", "chunked")
        request.end_headers()
        try:
            while (event := events.get()) is not None:
                line = json.dumps(event).encode() + b"\n"
                request.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                request.wfile.flush()
            request.wfile.write(b"0\r\n\r\n")
        except OSError:
            request.close_connection = True
