"""A Hugging Face Hub on loopback: the listing of a commit, files with ranges, large ones by way of a signed URL.

Run by hand: ``python -m emulators.hub DIR`` (from tests/) serves a folder as org/model and prints URL and commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LFS_BYTES = 1 << 20
"""Files of this size and more lie on "the CDN", and have a SHA-256."""


@dataclass
class HubFaults:
    """What is broken. The defaults are a fast, open hub."""

    bytes_per_second: float = 0.0
    """Of each connection; 0 is as fast as it goes."""
    token: str = ""
    """Needed, if given."""
    gated: bool = False
    """The token's account has not accepted the terms."""
    sha: str = COMMIT
    """The commit in the answer."""
    wrong_bytes: dict[str, int] = field(default_factory=dict)
    """File -> how many downloads of it get a wrong byte."""
    cut_after: dict[str, int] = field(default_factory=dict)
    """File -> bytes after which its first download's connection is cut."""
    fail_first: int = 0
    """So many requests are answered 503."""
    ignore_range: bool = False
    """Answers 200 with the whole file to a ranged request."""


@dataclass
class Hub:
    """One repository, ``org/model``. ``sent`` counts bytes by file, ``asked`` requests by kind; both for tests."""

    files: dict[str, bytes]
    faults: HubFaults = field(default_factory=HubFaults)
    id: str = "org/model"
    host: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        self.sent: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.cdn_authorization: list[str] = []
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """The endpoint."""
        assert self._server
        return f"http://{self.host}:{self._server.server_port}"

    def start(self) -> Hub:
        """Serve from now on."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub._answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer((self.host, self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop serving."""
        assert self._server
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, to: BaseHTTPRequestHandler) -> None:
        path = urlsplit(to.path).path
        with self._lock:
            self.asked[path.split("/")[1]] += 1
            failing = self.faults.fail_first > 0
            self.faults.fail_first -= failing
        if failing:
            _send(to, 503, b"try later")
        elif path.startswith("/cdn/"):
            self.cdn_authorization.append(to.headers.get("Authorization", ""))
            self._bytes(to, path.removeprefix("/cdn/"))
        elif self.faults.token and to.headers.get("Authorization") != f"Bearer {self.faults.token}":
            _send(to, 401, b"{}", {"X-Error-Message": "Invalid username or password."})
        elif path.startswith("/api/models/"):
            self._listing(to, path)
        elif self.faults.gated:
            _send(to, 403, b"{}", {"X-Error-Code": "GatedRepo"})
        else:
            self._file(to, path.removeprefix(f"/{self.id}/resolve/{COMMIT}/"))

    def _file(self, to: BaseHTTPRequestHandler, name: str) -> None:
        if name not in self.files:
            _send(to, 404, b"", {"X-Error-Code": "EntryNotFound"})
        elif len(self.files[name]) >= LFS_BYTES:
            _send(to, 302, b"", {"Location": f"{_cdn(to)}/cdn/{name}?X-Signature=secret-signature"})
        else:
            self._bytes(to, name)

    def _listing(self, to: BaseHTTPRequestHandler, path: str) -> None:
        repository, _, revision = path.removeprefix("/api/models/").partition("/revision/")
        if repository != self.id:
            return _send(to, 404, b"{}", {"X-Error-Code": "RepoNotFound"})
        if revision != COMMIT:
            return _send(to, 404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        siblings = []
        for name, content in self.files.items():
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob}
            if len(content) >= LFS_BYTES:
                sha = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"sha256": sha, "size": len(content), "pointerSize": 130}
            siblings.append(entry)
        body = {"id": self.id, "modelId": self.id, "sha": self.faults.sha, "siblings": siblings}
        return _send(to, 200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _bytes(self, to: BaseHTTPRequestHandler, name: str) -> None:
        content = self.files[name]
        with self._lock:
            if self.faults.wrong_bytes.get(name, 0) > 0:
                self.faults.wrong_bytes[name] -= 1
                content = bytes([content[0] ^ 1]) + content[1:]
            cut = self.faults.cut_after.pop(name, None)
        wanted = to.headers.get("Range")
        first = 0
        if wanted and not self.faults.ignore_range:
            first = int(wanted.removeprefix("bytes=").partition("-")[0])
            to.send_response(206)
            to.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        else:
            to.send_response(200)
        to.send_header("Content-Length", str(len(content) - first))
        to.end_headers()
        self._stream(to, name, content[first:], cut)

    def _stream(self, to: BaseHTTPRequestHandler, name: str, content: bytes, cut: int | None) -> None:
        step = 64 << 10
        try:
            for at in range(0, len(content), step):
                if cut is not None and at >= cut:
                    to.close_connection = True
                    to.connection.close()
                    return
                piece = content[at : at + step]
                to.wfile.write(piece)
                with self._lock:
                    self.sent[name] += len(piece)
                if self.faults.bytes_per_second:
                    time.sleep(len(piece) / self.faults.bytes_per_second)
        except OSError:
            to.close_connection = True


def _cdn(to: BaseHTTPRequestHandler) -> str:
    # On loopback by another name of the same machine: another origin, to which no token may go.
    return f"http://{to.headers['Host']}".replace("127.0.0.1", "localhost")


def _send(to: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    to.send_response(status)
    for key, value in (headers or {}).items():
        to.send_header(key, value)
    to.send_header("Content-Length", str(len(body)))
    to.end_headers()
    to.wfile.write(body)


def main() -> None:
    """Serve a folder until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bytes-per-second", type=float, default=0.0)
    parser.add_argument("--token", default="")
    args = parser.parse_args()
    files = {str(p.relative_to(args.folder)): p.read_bytes() for p in args.folder.rglob("*") if p.is_file()}
    faults = HubFaults(bytes_per_second=args.bytes_per_second, token=args.token)
    hub = Hub(files, faults, host=args.host, port=args.port).start()
    print(f"{hub.url} {hub.id} {COMMIT}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
