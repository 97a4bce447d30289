"""The verb `l2-patch serve`: the webhook. It asks nobody: parameters and certificate are files."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import threading
import time
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from .. import webserver
from ..findings import UsageError
from . import review
from .directory import Directory
from .https import JSON, PLAIN, HttpsServer, Reply
from .metrics import Metrics
from .tls import Certificate

PATH = "/pods"
"""Of requests; `/pods/<revision>` says which revision of the parameter object the webhook configuration goes by."""
LOOK_SECONDS = 1.0
"""Between two looks at files that no request has asked for."""


class Webhook:
    """What stands behind the pages.

    Args:
        parameters: folder of the parameter object.
        certificate: folder of `tls.crt` and `tls.key`.
    """

    def __init__(self, parameters: Path, certificate: Path) -> None:
        self._parameters = Directory(parameters)
        self.certificate = Certificate(certificate, say)
        self.metrics = Metrics()
        self.leaving = threading.Event()
        self.metrics.parameters.set_function(lambda: len(self._parameters.read() or ()))
        self.metrics.certificate.set_function(self.certificate.end)

    def handle(self, path: str, body: bytes) -> Reply:
        """One request."""
        began = time.perf_counter()
        status, content, result = self._judge(path, body)
        self.metrics.request(result, time.perf_counter() - began)
        return status, content, JSON if status == 200 else PLAIN

    def _judge(self, path: str, body: bytes) -> tuple[int, bytes, str]:
        where, _, revision = path.partition("?")[0].removeprefix("/").partition("/")
        if f"/{where}" != PATH:
            return 404, f"POST an AdmissionReview to {PATH}\n".encode(), review.MALFORMED
        try:
            answer = review.answer(body, self._parameters.read(), revision)
        except review.Malformed as err:
            say(f"not answered: {err}")
            return 400, f"{err}\n".encode(), review.MALFORMED
        except Exception as err:
            # Whatever the Pod holds: an answer that is none lets no Pod in, and the next one is asked about again.
            say(f"not answered: {type(err).__name__}: {err}")
            return 500, f"{type(err).__name__}: {err}\n".encode(), review.MALFORMED
        if answer.line:
            say(answer.line)
        return 200, json.dumps(answer.body).encode(), answer.result

    def ready(self) -> tuple[int, bytes, str]:
        """The page of the readiness probe. A missing parameter object is answered, so it is no reason to be away."""
        if self.leaving.is_set():
            return 503, b"leaving\n", PLAIN
        if self.certificate.context() is None:
            return 503, b"no certificate yet\n", PLAIN
        return 200, b"ok\n", PLAIN


def main(args: argparse.Namespace) -> bool:
    """Serve until SIGTERM or SIGINT. Raises UsageError."""
    webhook = Webhook(args.parameters, args.certificate)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        webserver.serve(args.health_port, {
            "/healthz": lambda: (200, b"ok\n", PLAIN),
            "/readyz": webhook.ready,
            "/metrics": lambda: (200, generate_latest(webhook.metrics.registry), CONTENT_TYPE_LATEST),
        })  # fmt: skip
        server = HttpsServer(args.port, webhook.certificate, webhook.handle, webhook.leaving)
    except OSError as err:
        raise UsageError(f"l2-patch serve: a port is taken: {err.strerror}. Fix: --port and --health-port") from err
    server.start()
    say(f"serving on port {args.port}")
    while not stop.wait(LOOK_SECONDS):
        webhook.certificate.context()
    # Endpoints lose this Pod first, and only then connections.
    webhook.leaving.set()
    say(f"leaving: requests are still answered for {args.drain:g} s")
    time.sleep(args.drain)
    if not server.drain(args.drain_deadline):
        say("leaving with requests that have not ended")
    return True


def say(line: str) -> None:
    """A line of the log."""
    with contextlib.suppress(OSError):
        print(f"l2-patch: {line}", file=sys.stderr, flush=True)
