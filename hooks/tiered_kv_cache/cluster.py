"""The few things that hooks ask the Kubernetes API, as plain JSON objects.

Plain JSON on purpose: no fault of a generated model class can hide a field, and tests feed recorded answers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

JsonObject = dict[str, Any]

CALL_SECONDS = 20
"""Timeout of one call to the API server."""
PAGE = 500
"""Objects of one answer to a list."""


class ClusterError(Exception):
    """The API server cannot be asked, or says no. ``fix``: what a person does about it; ``passes``: it may pass by.

    ``status``: of the answer, 0 where there was none; ``message``: the API server's own words, where it had some.
    """

    def __init__(
        self,
        what: str,
        fix: str = "see the API server's message, and try again",
        passes: bool = False,
        status: int = 0,
        message: str = "",
    ) -> None:
        super().__init__(what)
        self.fix, self.passes, self.status, self.message = fix, passes, status, message


class Cluster(Protocol):
    """What hooks need of a cluster. All raise ClusterError."""

    def pods(self, namespace: str, selector: str) -> list[JsonObject]:
        """Pods that match a label selector."""
        ...

    def events(self, namespace: str, field_selector: str) -> list[JsonObject]:
        """Events that match a field selector, oldest first."""
        ...

    def claim(self, namespace: str, name: str) -> JsonObject | None:
        """A PersistentVolumeClaim, or None when there is none."""
        ...

    def adopt(self, namespace: str, pod: str) -> None:
        """Make a Pod's ServiceAccount its owner, so that it goes when the release's objects go."""
        ...

    def log(self, namespace: str, pod: str, container: str, previous: bool = False, lines: int = 5) -> str:
        """Last lines of a container's log; empty when there is none."""
        ...


class KubernetesCluster:
    """A real cluster through the official client."""

    def __init__(self, api: Any) -> None:
        """``api``: a kubernetes.client.CoreV1Api."""
        self.api = api

    @classmethod
    def connect(cls, kubeconfig: str | None = None, context: str | None = None) -> KubernetesCluster:
        """Connect with a kubeconfig when one is named, else from inside the cluster, else with the usual kubeconfig."""
        # Imported here: the client takes half a second, and an init container has no use for it.
        from kubernetes import client, config  # noqa: PLC0415

        try:
            if in_cluster() and not kubeconfig and not context:
                inside = client.Configuration()
                config.load_incluster_config(inside)  # type: ignore[no-untyped-call,unused-ignore]
                # The client takes HTTPS_PROXY from the environment; from a Pod the API server is never behind one.
                inside.proxy = None
                return cls(client.CoreV1Api(client.ApiClient(inside)))
            config.load_kube_config(config_file=kubeconfig, context=context)  # type: ignore[no-untyped-call,unused-ignore]
        except config.ConfigException as err:
            raise ClusterError(
                f"no way into a cluster: {err}",
                "set KUBECONFIG or --kubeconfig, and --context, to a cluster you can reach",
            ) from err
        return cls(client.CoreV1Api())

    def pods(self, namespace: str, selector: str) -> list[JsonObject]:
        """See Cluster."""
        return self._list("list pods", namespace, self.api.list_namespaced_pod, label_selector=selector)

    def events(self, namespace: str, field_selector: str) -> list[JsonObject]:
        """See Cluster."""
        found = self._list("list events", namespace, self.api.list_namespaced_event, field_selector=field_selector)
        return sorted(found, key=_event_time)

    def claim(self, namespace: str, name: str) -> JsonObject | None:
        """See Cluster."""
        call = self.api.read_namespaced_persistent_volume_claim
        answer = self._call("get persistentvolumeclaims", namespace, call, missing_ok=True, name=name)
        return _object(answer) if answer is not None else None

    def pod(self, namespace: str, name: str) -> JsonObject:
        """A Pod. Raises ClusterError."""
        return _object(self._call("get pods", namespace, self.api.read_namespaced_pod, name=name) or b"{}")

    def adopt(self, namespace: str, pod: str) -> None:
        """See Cluster."""
        body = self._owned(namespace, pod)
        self._call("patch pods", namespace, self.api.patch_namespaced_pod, name=pod, body=body)

    def adopt_job(self, namespace: str, job: str, pod: str) -> None:
        """The same for a Job, by the ServiceAccount of one of its Pods. Raises ClusterError."""
        from kubernetes import client  # noqa: PLC0415

        patch = client.BatchV1Api(self.api.api_client).patch_namespaced_job
        self._call("patch jobs", namespace, patch, name=job, body=self._owned(namespace, pod))

    def volumes(self) -> list[JsonObject]:
        """All PersistentVolumes. Raises ClusterError."""
        call = self.api.list_persistent_volume
        return self._list("list persistentvolumes", "", lambda namespace, **args: call(**args))

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Delete a Deployment, DaemonSet or StatefulSet and its Pods; False if it was gone. Raises ClusterError."""
        from kubernetes import client  # noqa: PLC0415

        apps = client.AppsV1Api(self.api.api_client)
        call = {
            "deployments": apps.delete_namespaced_deployment,
            "daemonsets": apps.delete_namespaced_daemon_set,
            "statefulsets": apps.delete_namespaced_stateful_set,
        }[kind]
        return (
            self._call(f"delete {kind}", namespace, call, missing_ok=True, name=name, propagation_policy="Background")
            is not None
        )

    def ask(
        self,
        doing: str,
        method: str,
        path: str,
        namespace: str = "",
        *,
        body: JsonObject | None = None,
        query: Mapping[str, str] | None = None,
    ) -> JsonObject | None:
        """Any object or list by its path; None if there is none. Raises ClusterError.

        For kinds of others, which the client has no classes for, and for what it cannot say. ``doing``: "list nodes", for
        messages; ``namespace`` as well. PATCH is a JSON merge patch.
        """
        client = self.api.api_client
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"

        def call(namespace: str, _preload_content: bool, _request_timeout: float) -> Any:
            request = client.param_serialize(
                method, path, query_params=list((query or {}).items()), body=body, auth_settings=["BearerToken"],
                header_params={"Accept": "application/json", "Content-Type": kind},
            )  # fmt: skip
            return client.call_api(*request, _request_timeout=_request_timeout).response

        answer = self._call(doing, namespace, call, missing_ok=method in ("GET", "DELETE"))
        return None if answer is None else _object(answer)

    def _owned(self, namespace: str, pod: str) -> JsonObject:
        account = str(self.pod(namespace, pod)["spec"]["serviceAccountName"])
        call = self.api.read_namespaced_service_account
        found = _object(self._call("get serviceaccounts", namespace, call, name=account) or b"{}")
        owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": account, "uid": found["metadata"]["uid"]}
        return {"metadata": {"ownerReferences": [owner]}}

    def log(self, namespace: str, pod: str, container: str, previous: bool = False, lines: int = 5) -> str:
        """See Cluster."""
        try:
            answer = self._call(
                "get pods/log",
                namespace,
                self.api.read_namespaced_pod_log,
                name=pod,
                container=container,
                previous=previous,
                tail_lines=lines,
                limit_bytes=20_000,
            )
        except ClusterError:
            return ""  # A log is a help for people; a container that has none yet answers 400.
        return (answer or b"").decode("utf-8", "replace")

    def _list(self, doing: str, namespace: str, call: Callable[..., Any], **args: Any) -> list[JsonObject]:
        found: list[JsonObject] = []
        args["limit"] = PAGE
        while True:
            answer = _object(self._call(doing, namespace, call, **args) or b"{}")
            items = answer.get("items")
            found += [i for i in items if isinstance(i, dict)] if isinstance(items, list) else []
            args["_continue"] = (answer.get("metadata") or {}).get("continue")
            if not args["_continue"]:
                return found

    def _call(
        self, doing: str, namespace: str, call: Callable[..., Any], missing_ok: bool = False, **args: Any
    ) -> bytes | None:
        from kubernetes.client import ApiException  # noqa: PLC0415
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        where = f"in namespace {namespace}" if namespace else "in the cluster"
        try:
            answer = call(namespace=namespace, _preload_content=False, _request_timeout=CALL_SECONDS, **args)
            # Without preloading some versions of the client leave errors to the caller.
            if answer.status >= 400:
                refused = ApiException(status=answer.status, reason=answer.reason)
                refused.body = answer.data
                raise refused
            return bytes(answer.data)
        except ApiException as err:
            if err.status == 404 and missing_ok:
                return None
            status, message = int(err.status or 0), _message(err.body)
            if err.status in (401, 403):
                raise ClusterError(
                    f"may not {doing} {where} ({err.status} {err.reason})",
                    "install the chart's Role and RoleBinding of this hook, or use a kubeconfig that may",
                    status=status,
                    message=message,
                ) from err
            raise ClusterError(
                f"cannot {doing} {where}: {err.status} {err.reason}",
                passes=status == 429 or status >= 500,
                status=status,
                message=message,
            ) from err
        except (HTTPError, OSError) as err:
            raise ClusterError(
                f"cannot {doing} {where}: the API server does not answer ({err})",
                "check the network between here and the API server",
                passes=True,
            ) from err


def in_cluster() -> bool:
    """Whether this process runs in a Pod with a ServiceAccount."""
    token = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and token.exists()


def _object(answer: bytes) -> JsonObject:
    try:
        found = json.loads(answer)
    except ValueError as err:
        raise ClusterError(f"the API server's answer is not JSON: {answer[:100]!r}") from err
    if not isinstance(found, dict):
        raise ClusterError(f"the API server's answer is not an object: {answer[:100]!r}")
    return found


def _message(body: Any) -> str:
    """Of a Status object; nothing if it is none."""
    try:
        found = json.loads(body or b"")
    except (TypeError, ValueError):
        return ""
    return str(found.get("message") or "") if isinstance(found, dict) else ""


def _event_time(event: JsonObject) -> str:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next((t for t in times if t), ""))
