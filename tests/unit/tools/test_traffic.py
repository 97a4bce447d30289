"""The traffic of the cluster tests sees every kind of failure: a test of an upgrade is worth what its client notices."""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from cluster import traffic

WHOLE = {"choices": [{"text": "abc", "finish_reason": "length"}], "usage": {"completion_tokens": 8}}
SHORT = {**WHOLE, "usage": {"completion_tokens": 3}}
EVENT = {"choices": [{"text": "abc", "finish_reason": "length"}]}
ERROR = {"error": {"message": "engine is gone"}}


def _events(*events: object, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"] * done
    return "".join(lines).encode()


ANSWERS: dict[str, tuple[int, bytes]] = {
    "whole": (200, json.dumps(WHOLE).encode()),
    "short": (200, json.dumps(SHORT).encode()),
    "unavailable": (503, b"no worker"),
    "not JSON": (200, b"<html>"),
    "stream": (200, _events(EVENT)),
    "stream without end": (200, _events(EVENT, done=False)),
    "stream of nothing": (200, _events()),
    "error in the stream": (200, _events(EVENT, ERROR)),
    "refused stream": (503, b"no worker"),
}
RIGHT = {"whole", "stream"}


class _Handler(http.server.BaseHTTPRequestHandler):
    answer: tuple[int, bytes] | None = None

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.answer is None:  # the connection just ends
            return
        status, body = self.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _sent(url: str, answer: tuple[int, bytes] | None, *, stream: bool) -> traffic.Report:
    _Handler.answer = answer
    report = traffic.Report()

    async def send() -> None:
        async with httpx.AsyncClient(base_url=url) as client:
            # Even numbers are streamed; 2 and 3 are short ones.
            await traffic.one(client, report, "m", 2 if stream else 3)

    asyncio.run(send())
    return report


@pytest.mark.parametrize("case", ANSWERS)
def test_what_counts_as_answered(url: str, case: str) -> None:
    report = _sent(url, ANSWERS[case], stream="stream" in case)
    assert report.sent == 1
    assert report.ok == (case in RIGHT), report.failures
    if case not in RIGHT:
        (failure,) = report.failures
        assert failure["kind"] == ("streamed" if "stream" in case else "plain")
        assert failure["text"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_ends_is_a_failure(url: str, stream: bool) -> None:
    report = _sent(url, None, stream=stream)
    assert (report.ok, len(report.failures)) == (0, 1)


def test_nobody_listens() -> None:
    assert len(_sent("http://127.0.0.1:1", None, stream=False).failures) == 1
