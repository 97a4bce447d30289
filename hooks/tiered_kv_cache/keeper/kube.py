"""What services ask the Kubernetes API: a Lease, events, claims and Pods by name. Plain JSON, through the official client."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

JsonObject = dict[str, Any]
CALL_SECONDS = 5.0
RENEWALS = 3
"""Tries to renew within a lease's length; the last part of it is left for stopping."""


class Answer(Exception):
    """The API server's answer was no success. ``status`` 0: there was none."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text}" if status else text)
        self.status = status


class Api(Protocol):
    """An API server: calls take at most CALL_SECONDS, and raise Answer. Objects are plain JSON."""

    def get_lease(self, namespace: str, name: str) -> JsonObject:
        """A Lease."""
        ...

    def create_lease(self, namespace: str, lease: JsonObject) -> None:
        """Make one; 409 if it is there."""
        ...

    def replace_lease(self, namespace: str, lease: JsonObject) -> None:
        """Replace one; 409 if it is not the version that was read."""
        ...

    def create_event(self, namespace: str, event: JsonObject) -> None:
        """Make an event."""
        ...


class KubernetesApi:
    """The API server of this Pod's cluster."""

    def __init__(self, client: Any) -> None:
        """``client``: a kubernetes.client.ApiClient."""
        # Imported here: the client takes half a second, and `keeper status` has no use for it.
        from kubernetes.client import CoordinationV1Api, CoreV1Api  # noqa: PLC0415

        self._leases, self._core = CoordinationV1Api(client), CoreV1Api(client)

    def get_lease(self, namespace: str, name: str) -> JsonObject:
        """See Api."""
        return call(self._leases.read_namespaced_lease, namespace=namespace, name=name)

    def create_lease(self, namespace: str, lease: JsonObject) -> None:
        """See Api."""
        call(self._leases.create_namespaced_lease, namespace=namespace, body=lease)

    def replace_lease(self, namespace: str, lease: JsonObject) -> None:
        """See Api."""
        name = lease["metadata"]["name"]
        call(self._leases.replace_namespaced_lease, namespace=namespace, name=name, body=lease)

    def create_event(self, namespace: str, event: JsonObject) -> None:
        """See Api."""
        call(self._core.create_namespaced_event, namespace=namespace, body=event)

    def get_claim(self, namespace: str, name: str) -> JsonObject:
        """A PersistentVolumeClaim. Raises Answer."""
        return call(self._core.read_namespaced_persistent_volume_claim, namespace=namespace, name=name)

    def patch_claim(self, namespace: str, name: str, metadata: JsonObject) -> None:
        """Merge into a claim's metadata; 409 if ``metadata`` has a resourceVersion that is not the present one."""
        patch = self._core.patch_namespaced_persistent_volume_claim
        call(patch, namespace=namespace, name=name, body={"metadata": metadata})

    def patch_pod(self, namespace: str, name: str, metadata: JsonObject) -> None:
        """Merge into a Pod's metadata."""
        call(self._core.patch_namespaced_pod, namespace=namespace, name=name, body={"metadata": metadata})


def call(what: Callable[..., Any], **args: Any) -> JsonObject:
    """The object that a method of the official client gets. Raises Answer."""
    from kubernetes.client import ApiException  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    try:
        answer = what(_preload_content=False, _request_timeout=CALL_SECONDS, **args)
        found = json.loads(answer.data)
    except ApiException as err:
        raise Answer(int(err.status or 0), str(err.reason)) from err
    except (HTTPError, OSError, ValueError) as err:
        raise Answer(0, str(err)) from err
    # Without preloading some versions of the client leave errors to the caller.
    if answer.status >= 400:
        raise Answer(int(answer.status), str(answer.reason))
    return found if isinstance(found, dict) else {}


def connect() -> KubernetesApi | None:
    """The cluster this process runs in; None outside of one."""
    from ..cluster import KubernetesCluster, in_cluster  # noqa: PLC0415

    return KubernetesApi(KubernetesCluster.connect().api.api_client) if in_cluster() else None


class KubeLease:
    """Leader election by a Lease, as client-go does it: times of others are only compared for change.

    ``held`` is false as soon as a renewal is overdue by this process' own clock, whatever thread hangs.
    """

    def __init__(
        self, api: Api, namespace: str, name: str, identity: str, *, seconds: float,
        clock: Callable[[], float] = time.monotonic, wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:  # fmt: skip
        self._api, self._identity, self._seconds, self._clock, self._wall = api, identity, seconds, clock, wall
        self._name, self._namespace = name, namespace
        self._until = -1e9
        self._seen: tuple[str, float] | None = None
        self._stop = threading.Event()
        self._given_up = False
        self._lock = threading.Lock()
        self.problem = ""
        """The last failure, for people."""

    @property
    def held(self) -> bool:
        """Renewed within two thirds of the length, so that another one's clock cannot be first."""
        return not self._given_up and self._clock() < self._until

    def start(self) -> None:
        """Try, and renew, in a thread of its own that touches no volume."""
        threading.Thread(target=self._run, name="lease", daemon=True).start()

    def step(self) -> bool:
        """Acquire or renew once; True if it is this process' now."""
        with self._lock:
            return not self._given_up and self._try()

    def _try(self) -> bool:
        asked = self._clock()
        try:
            ours = self._step()
        except Answer as err:
            self.problem = f"lease {self._namespace}/{self._name}: {err}"
            # A conflict means that another one wrote; anything else leaves what was granted before as it is.
            if err.status == 409:
                self._until = -1e9
            return False
        self.problem = ""
        # Counted from before the call: the server may have written at its start.
        self._until = asked + self._seconds * 2 / 3 if ours else -1e9
        return ours

    def give_up(self) -> None:
        """Never act again, and let another one begin at once."""
        held, self._given_up = self.held, True
        self._stop.set()
        if held:
            # After a renewal under way, which would take it again.
            with self._lock, contextlib.suppress(Answer):
                lease = self._api.get_lease(self._namespace, self._name)
                if (lease.get("spec") or {}).get("holderIdentity") == self._identity:
                    lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._now()}
                    self._api.replace_lease(self._namespace, lease)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.step()
            except Exception as err:
                # The thread must go on, whatever the client library throws; what was granted runs out by itself.
                self.problem = f"lease {self._namespace}/{self._name}: {type(err).__name__}: {err}"
            self._stop.wait(self._seconds / (2 * RENEWALS))

    def _step(self) -> bool:
        try:
            lease = self._api.get_lease(self._namespace, self._name)
        except Answer as err:
            if err.status != 404:
                raise
            self._api.create_lease(self._namespace, self._body({"metadata": {"name": self._name}}, 0))
            return True
        spec = lease.get("spec") or {}
        holder = str(spec.get("holderIdentity") or "")
        if holder and holder != self._identity:
            mark = f"{holder} {spec.get('renewTime')}"
            if self._seen is None or self._seen[0] != mark:
                self._seen = (mark, self._clock())
            if self._clock() - self._seen[1] < float(spec.get("leaseDurationSeconds") or self._seconds):
                return False
        # With the resourceVersion that was read: of two that try, the server lets one.
        self._api.replace_lease(self._namespace, self._body(lease, int(spec.get("leaseTransitions") or 0), holder))
        return True

    def _body(self, lease: JsonObject, transitions: int, holder: str = "") -> JsonObject:
        spec = dict(lease.get("spec") or {})
        if holder != self._identity:
            spec |= {"acquireTime": self._now(), "leaseTransitions": transitions + 1}
        spec |= {
            "holderIdentity": self._identity, "renewTime": self._now(),
            "leaseDurationSeconds": max(1, round(self._seconds)),
        }  # fmt: skip
        head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        return {**head, "metadata": lease["metadata"] | {"namespace": self._namespace}, "spec": spec}

    def _now(self) -> str:
        return self._wall().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
