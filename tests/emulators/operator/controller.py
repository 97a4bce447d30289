"""The loop: whatever happens to an IEC or to one of its Deployments, everything of that IEC is made what it should be.

Whether AWS's operator looks at its Deployments at all times, or only when an IEC changes, is not published; this one always does, which is
harder on whoever would change them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

import urllib3
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

from . import status
from .names import GROUP, IEC_NAME, IEC_NAMESPACE, PLURAL, SYSTEM, Names
from .objects import Objects
from .options import Json, Options
from .pod import Refused
from .render import render
from .work import Key, Work

_LOG = logging.getLogger("operator")
_AGAIN_S = 1.0
_WATCH_S = 300
_BROKEN = (ApiException, urllib3.exceptions.HTTPError, OSError)


class Controller:
    """An operator for a whole cluster.

    Args:
        api: a client of the cluster.
        options: how it renders.
    """

    def __init__(self, api: client.ApiClient, options: Options) -> None:
        self._objects, self._options, self._work = Objects(api), options, Work()

    def run(self) -> None:
        """Work until the process is ended."""
        for stream in (self._iecs, self._deployments):
            threading.Thread(target=self._watch, args=(stream,), daemon=True).start()
        while True:
            key = self._work.take()
            try:
                self.reconcile(key)
            except _BROKEN as error:
                _LOG.warning("%s/%s: %s", *key, error)
                self._work.add(key, _AGAIN_S)

    def reconcile(self, key: Key) -> None:
        """Make the objects of one IEC what they should be.

        Raises:
            ApiException: the API server refused something.
        """
        iec = self._objects.iec(*key)
        if iec is None or iec["metadata"].get("deletionTimestamp"):
            self._remove(key, keep=set())
            return
        try:
            wanted = render(iec, self._options)
        except Refused as why:
            _LOG.warning("%s/%s: %s", *key, why)
            self._objects.put_status(iec, status.of_refusal(iec, why))
            return
        self._system_namespace()
        there = {_place(each): self._objects.put(each) for each in wanted}
        self._remove(key, keep=set(there))
        names = Names(iec)
        self._objects.put_status(iec, status.of_deployment(iec, there["Deployment", names.namespace, names.iec]))

    def _remove(self, key: Key, keep: set[tuple[str, str, str]]) -> None:
        """Delete what an IEC no longer wants. Most ends with its owner; what lies in the operator's namespace has none.

        The emulator sets no finalizer: a namespace must not wait for an emulator that has ended.
        """
        for each in self._objects.owned(*key):
            if _place(each) not in keep:
                self._objects.delete(each)

    def _system_namespace(self) -> None:
        try:
            self._objects.core.create_namespace({"metadata": {"name": SYSTEM}})
        except ApiException as error:
            if error.status != 409:
                raise

    def _watch(self, stream: Callable[[], Iterator[Key]]) -> None:
        while True:
            try:
                for key in stream():
                    self._work.add(key)
            except _BROKEN as error:
                _LOG.warning("watch: %s", error)
                time.sleep(_AGAIN_S)

    def _iecs(self) -> Iterator[Key]:
        """Every IEC that is there, then each that changes. What was deleted while nobody looked is known by what it left."""
        yield from self._objects.all_keys()
        each_iec = self._objects.custom.list_cluster_custom_object
        for event in watch.Watch().stream(each_iec, GROUP, "v1", PLURAL, timeout_seconds=_WATCH_S):
            metadata = event["raw_object"]["metadata"]
            yield metadata["namespace"], metadata["name"]

    def _deployments(self) -> Iterator[Key]:
        """The same for the Deployments that the emulator has made."""
        every = self._objects.apps.list_deployment_for_all_namespaces
        for event in watch.Watch().stream(every, label_selector=IEC_NAME, timeout_seconds=_WATCH_S):
            labels = event["raw_object"]["metadata"]["labels"]
            yield labels[IEC_NAMESPACE], labels[IEC_NAME]


def _place(found: Json) -> tuple[str, str, str]:
    return found["kind"], found["metadata"]["namespace"], found["metadata"]["name"]
