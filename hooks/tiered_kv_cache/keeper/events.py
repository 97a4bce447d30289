"""Kubernetes events about what a person should know, each at most once an hour; without a cluster they are log lines."""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from .. import names
from ..findings import shorten
from .kube import Api

AGAIN_SECONDS = 3600.0
MOST_KEYS = 10_000
MOST_WAITING = 100


class Events:
    """``say`` never waits for the API server: a thread sends, and what does not fit its queue is only logged."""

    def __init__(
        self, api: Api | None = None, namespace: str = "", log: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._api, self._namespace, self._log, self._clock = api, namespace, log, clock
        self._said: dict[tuple[str, str], float] = {}
        self._waiting: queue.Queue[tuple[str, str]] = queue.Queue(MOST_WAITING)
        if api is not None:
            threading.Thread(target=self._send_all, name="events", daemon=True).start()

    def say(self, reason: str, about: str, text: str) -> bool:
        """Tell ``text``; False if it was told for this ``reason`` and ``about`` within the hour."""
        key, now = (reason, about), self._clock()
        if key in self._said and now - self._said[key] < AGAIN_SECONDS:
            return False
        if len(self._said) >= MOST_KEYS:
            self._said.clear()
        self._said[key] = now
        self._log(f"{reason}: {text}")
        if self._api is not None:
            try:
                self._waiting.put_nowait((reason, text))
            except queue.Full:
                self._log(f"{reason}: no event was made, {MOST_WAITING} wait for the API server")
        return True

    def _send_all(self) -> None:
        assert self._api is not None
        while True:
            reason, text = self._waiting.get()
            try:
                self._api.create_event(self._namespace, self._event(reason, text))
            except Exception as err:  # As for the lease: no answer of a library may end the thread.
                self._log(f"{reason}: no event was made: {err}")

    def _event(self, reason: str, text: str) -> dict[str, object]:
        pod = os.environ.get(names.ENV_POD_NAME, "")
        return about_pod(self._namespace, pod, "keeper", kind="Warning", reason=reason, text=text)


def about_pod(namespace: str, pod: str, component: str, *, kind: str, reason: str, text: str) -> dict[str, object]:
    """An event of kind Normal or Warning about this process' own Pod; ``component`` is the part of the bundle that tells it."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1", "kind": "Event", "type": kind, "reason": reason, "message": shorten(text, 1000),
        "metadata": {"name": f"{pod or component}.{secrets.token_hex(6)}", "namespace": namespace},
        "involvedObject": {
            "kind": "Pod", "apiVersion": "v1", "name": pod, "namespace": namespace,
            "uid": os.environ.get(names.ENV_POD_UID, ""),
        },
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
        "source": {"component": f"tiered-kv-cache-{component}"}, "reportingComponent": f"{names.DOMAIN}/{component}",
        "reportingInstance": pod,
    }  # fmt: skip
