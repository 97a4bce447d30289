"""Tells the cluster of changes: events about this Pod, and its annotation. The watch never waits for the API server."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from .. import names
from ..keeper.events import about_pod
from ..keeper.kube import JsonObject
from .board import Change
from .prober import ALIVE

MOST_WAITING = 100
COMPONENT = "pool-watch"


class Api(Protocol):
    """An API server; calls raise Answer."""

    def create_event(self, namespace: str, event: JsonObject) -> None:
        """Make an event."""
        ...

    def patch_pod(self, namespace: str, name: str, metadata: JsonObject) -> None:
        """Merge into a Pod's metadata."""
        ...


class Reporter:
    """What could not be told waits for the next ``tick``. ``api``: None outside a cluster, where only ``log`` is told.

    ``advice``: what stands behind a change's text.
    """

    def __init__(
        self, api: Api | None, namespace: str, pod: str, log: Callable[[str], None],
        advice: Callable[[Change], str] = lambda _: "",
    ) -> None:  # fmt: skip
        self._api, self._namespace, self._pod, self._log, self._advice = api, namespace, pod, log, advice
        self._text: str | None = None
        # The oldest go first: of a mount that flaps for hours without an API server the end is of interest.
        self._events: deque[JsonObject] = deque(maxlen=MOST_WAITING)
        self._annotation: str | None = None
        self._told = False
        self._lock = threading.Lock()
        self._turn = threading.Event()

    def start(self) -> None:
        """Send in a thread of its own."""
        threading.Thread(target=self._run, name="reports", daemon=True).start()

    def take(self, changes: Sequence[Change], text: str) -> None:
        """Note changes, if any; ``text`` is the annotation that holds now, also without one where a mount is gone."""
        for change in changes:
            self._log(change.text() + self._advice(change))
        if self._api is None or (not changes and text == self._text):
            return
        self._text = text
        with self._lock:
            for change in changes:
                # A first look that finds all well is no news; the annotation says it.
                if change.before is not None or change.now.state != ALIVE:
                    self._events.append(self._event(change))
            self._annotation, self._told = text, False

    def tick(self) -> None:
        """Let what waits be tried again."""
        self._turn.set()

    def send(self) -> bool:
        """Try to tell all that waits; False if something is left."""
        try:
            self._send()
        except Exception as err:  # No answer of a library may end the thread.
            with self._lock:
                told, self._told = self._told, True
            if not told:
                self._log(f"the cluster could not be told: {err}; tries again")
            return False
        return True

    def _send(self) -> None:
        assert self._api is not None
        if (text := self._annotation) is not None:
            self._api.patch_pod(self._namespace, self._pod, {"annotations": {names.ANNOTATION_POOL_MOUNT: text}})
            with self._lock:
                # Unless it changed meanwhile.
                self._annotation = None if self._annotation == text else self._annotation
        while self._events:
            event = self._events[0]
            self._api.create_event(self._namespace, event)
            with self._lock:
                if self._events and self._events[0] is event:
                    self._events.popleft()

    def _run(self) -> None:
        while True:
            self._turn.wait()
            self._turn.clear()
            self.send()

    def _event(self, change: Change) -> JsonObject:
        state = change.now.state
        kind = "Normal" if state == ALIVE else "Warning"
        reason = f"PoolMount{state.capitalize()}"
        return about_pod(
            self._namespace, self._pod, COMPONENT, kind=kind, reason=reason, text=change.text() + self._advice(change)
        )
