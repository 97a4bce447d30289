"""HTTP to Pods, with a timeout on everything and a retry only where a connection could not be made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from .deadline import Deadline

RETRY_SECONDS = 3.0
"""How long a refused or reset connection is tried again; longer waits belong to readiness."""
CALL_SECONDS = 15.0
"""Timeout of a call that computes nothing."""


class Unreachable(Exception):
    """No answer. The message has the URL and the reason."""


class BadAnswer(Exception):
    """An answer that is an error. ``status`` is the HTTP status, ``body`` its text."""

    def __init__(self, url: str, status: int, body: str) -> None:
        super().__init__(f"{url} answered {status}: {' '.join(body.split())[:300]}")
        self.url = url
        self.status = status
        self.body = body


class Http:
    """A client for one base URL."""

    def __init__(self, base_url: str, deadline: Deadline, key: str = "") -> None:
        """``key``: sent as bearer token, but only to paths below /v1, which are those that vLLM guards."""
        self.base_url = base_url.rstrip("/")
        self._deadline = deadline
        self._key = key
        # Pod addresses are never reached through a proxy, whatever HTTP_PROXY says.
        self._client = httpx.Client(trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def call(self, method: str, path: str, json: Any = None, at_most: float = CALL_SECONDS) -> httpx.Response:
        """One call; raises Unreachable or BadAnswer. A connection that cannot be made is tried again for a moment."""
        url = self.base_url + path
        retry = self._deadline.within(RETRY_SECONDS)
        while True:
            self._deadline.check(f"calling {url}")
            try:
                response = self._client.request(
                    method, url, json=json, headers=self._headers(path), timeout=self._deadline.timeout(at_most)
                )
            except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as err:
                # Only what does no work may be sent twice after the connection stood.
                if retry.passed() or not (method == "GET" or isinstance(err, httpx.ConnectError)):
                    raise Unreachable(f"{url}: {reason(err)}") from err
                retry.sleep(0.3)
                continue
            except httpx.HTTPError as err:
                raise Unreachable(f"{url}: {reason(err)}") from err
            if response.status_code >= 400:
                raise BadAnswer(url, response.status_code, response.text)
            return response

    @contextmanager
    def stream(self, path: str, json: Any) -> Iterator[Iterator[str]]:
        """POST and yield the answer's lines as they come; sent once, since a second try would find a warm cache."""
        url = self.base_url + path
        self._deadline.check(f"calling {url}")
        try:
            with self._client.stream(
                "POST", url, json=json, headers=self._headers(path), timeout=self._deadline.timeout(3600)
            ) as response:
                if response.status_code >= 400:
                    response.read()
                    raise BadAnswer(url, response.status_code, response.text)
                yield self._lines(response, url)
        except httpx.HTTPError as err:
            self._deadline.check(f"waiting for {url}")
            raise Unreachable(f"{url}: {reason(err)}") from err

    def _headers(self, path: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key and path.startswith("/v1/") else {}

    def _lines(self, response: httpx.Response, url: str) -> Iterator[str]:
        for line in response.iter_lines():
            self._deadline.check(f"reading from {url}")
            yield line


def reason(err: Exception) -> str:
    """What went wrong, in words; some errors of httpx have no text."""
    if isinstance(err, httpx.TimeoutException):
        return "no answer in time"
    return str(err) or type(err).__name__
