"""An S3 service on loopback, addressed by path: listing (ListObjectsV2), GET with ranges and If-Match, and an STS.

Run by hand: ``python -m emulators.s3 DIR`` (from tests/) serves a folder as s3://models/tiny and prints its URL.
"""

from __future__ import annotations

import argparse
import hashlib
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

ROLE_KEY = "ROLEKEY"
"""Access key that the STS gives for a web identity."""


@dataclass
class S3Faults:
    """What is broken. The defaults are a fast, healthy service."""

    bytes_per_second: float = 0.0
    access_key: str = ""
    """Needed, if given; else everybody may read."""
    wrong_bytes: dict[str, int] = field(default_factory=dict)
    """Key -> how many downloads of it get a wrong byte."""
    etags: dict[str, str] = field(default_factory=dict)
    """Key -> etag instead of the MD5."""
    replace_on_get: dict[str, bytes] = field(default_factory=dict)
    """Key -> content that takes the old one's place just before its first GET."""
    fail_first: int = 0
    """So many requests are answered 500."""


@dataclass
class S3:
    """One bucket. ``sent`` counts bytes by key, ``asked`` requests by kind."""

    files: dict[str, bytes]
    faults: S3Faults = field(default_factory=S3Faults)
    bucket: str = "models"
    host: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        self.sent: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """The endpoint."""
        assert self._server
        return f"http://{self.host}:{self._server.server_port}"

    def start(self) -> S3:
        """Serve from now on."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                service._answer(self)

            def do_POST(self) -> None:
                service._assume_role(self)

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

    def etag(self, key: str) -> str:
        """With its quotes."""
        return f'"{self.faults.etags.get(key) or hashlib.md5(self.files[key]).hexdigest()}"'

    def _answer(self, to: BaseHTTPRequestHandler) -> None:
        url = urlsplit(to.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        query = parse_qs(url.query)
        with self._lock:
            self.asked["get" if key else "list"] += 1
            failing = self.faults.fail_first > 0
            self.faults.fail_first -= failing
        signed = f"Credential={self.faults.access_key}/" in to.headers.get("Authorization", "")
        if failing:
            _error(to, 500, "InternalError")
        elif self.faults.access_key and not signed:
            _error(to, 403, "AccessDenied")
        elif bucket != self.bucket:
            _error(to, 404, "NoSuchBucket")
        elif not key:
            self._list(to, query.get("prefix", [""])[0])
        else:
            self._get(to, key)

    def _list(self, to: BaseHTTPRequestHandler, prefix: str) -> None:
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(self.etag(key))}</ETag><Size>{len(content)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for key, content in sorted(self.files.items())
            if key.startswith(prefix)
        )
        body = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{self.bucket}</Name><Prefix>{escape(prefix)}</Prefix><MaxKeys>1000</MaxKeys>"
            f"<IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        )
        _send(to, 200, body.encode())

    def _get(self, to: BaseHTTPRequestHandler, key: str) -> None:
        with self._lock:
            if key in self.faults.replace_on_get:
                self.files[key] = self.faults.replace_on_get.pop(key)
        if key not in self.files:
            return _error(to, 404, "NoSuchKey")
        if to.headers.get("If-Match") not in (None, self.etag(key)):
            return _error(to, 412, "PreconditionFailed")
        content = self.files[key]
        with self._lock:
            if self.faults.wrong_bytes.get(key, 0) > 0:
                self.faults.wrong_bytes[key] -= 1
                content = bytes([content[0] ^ 1]) + content[1:]
        wanted = to.headers.get("Range")
        first = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        to.send_response(206 if wanted else 200)
        if wanted:
            to.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        to.send_header("ETag", self.etag(key))
        to.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        to.send_header("Content-Length", str(len(content) - first))
        to.end_headers()
        return self._stream(to, key, content[first:])

    def _stream(self, to: BaseHTTPRequestHandler, key: str, content: bytes) -> None:
        step = 64 << 10
        try:
            for at in range(0, len(content), step):
                piece = content[at : at + step]
                to.wfile.write(piece)
                with self._lock:
                    self.sent[key] += len(piece)
                if self.faults.bytes_per_second:
                    time.sleep(len(piece) / self.faults.bytes_per_second)
        except OSError:
            to.close_connection = True

    def _assume_role(self, to: BaseHTTPRequestHandler) -> None:
        to.rfile.read(int(to.headers.get("Content-Length") or 0))
        self.asked["sts"] += 1
        body = (
            '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            "<AssumeRoleWithWebIdentityResult><Credentials>"
            f"<SessionToken>session</SessionToken><SecretAccessKey>secret</SecretAccessKey><AccessKeyId>{ROLE_KEY}</AccessKeyId>"
            "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
            "</AssumeRoleWithWebIdentityResponse>"
        )
        _send(to, 200, body.encode())


def _error(to: BaseHTTPRequestHandler, status: int, code: str) -> None:
    _send(to, status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())


def _send(to: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    to.send_response(status)
    to.send_header("Content-Type", "application/xml")
    to.send_header("Content-Length", str(len(body)))
    to.end_headers()
    to.wfile.write(body)


def main() -> None:
    """Serve a folder until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    files = {f"tiny/{p.relative_to(args.folder)}": p.read_bytes() for p in args.folder.rglob("*") if p.is_file()}
    print(S3(files, host=args.host, port=args.port).start().url, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
