"""Kubernetes objects of any kind by their paths, each read once in a run, and waited for while the API server is away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .cluster import PAGE, ClusterError, JsonObject
from .deadline import Deadline

POLL_SECONDS = 2.0


class Asking(Protocol):
    """What KubernetesCluster.ask is."""

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
        """See KubernetesCluster."""
        ...


@dataclass(frozen=True)
class Kind:
    """``group``: with its version, "v1" for the first of all; ``plural``: as in paths; ``namespaced``: lies in a namespace."""

    group: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """Of an object, or of the list."""
        root = f"/apis/{self.group}" if "/" in self.group else f"/api/{self.group}"
        place = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{place}/{self.plural}" + (f"/{name}" if name else "")

    @property
    def shown(self) -> str:
        """As in a rule of a Role: ``deployments.apps``."""
        group = self.group.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural


class Denied(Exception):
    """The right to look is missing. ``right``: verb and kind; ``namespace``: where, empty for the whole cluster."""

    def __init__(self, right: str, namespace: str) -> None:
        super().__init__(f"may not {right}" + (f" in namespace {namespace}" if namespace else " in the cluster"))
        self.right, self.namespace = right, namespace


class Objects:
    """What the API server holds. All raise Denied, ClusterError and DeadlinePassed."""

    def __init__(self, cluster: Asking, deadline: Deadline) -> None:
        self._cluster, self._deadline = cluster, deadline
        self._seen: dict[tuple[str, tuple[tuple[str, str], ...]], Any] = {}

    def get(self, kind: Kind, name: str, namespace: str = "") -> JsonObject | None:
        """One object, or None."""
        path = kind.path(namespace, name)
        found: JsonObject | None = self._once((path, ()), lambda: self._ask("get", kind, path, namespace))
        return found

    def list(self, kind: Kind, namespace: str = "", **query: str) -> list[JsonObject]:
        """All of a kind, of a namespace or of the cluster; none where the kind is not served."""
        path = kind.path(namespace)

        def read() -> list[JsonObject]:
            found: list[JsonObject] = []
            going = ""
            while True:
                more = {"continue": going} if going else {}
                answer = self._ask("list", kind, path, namespace, limit=str(PAGE), **query, **more) or {}
                found += [each for each in answer.get("items") or [] if isinstance(each, dict)]
                going = str((answer.get("metadata") or {}).get("continue") or "")
                if not going:
                    return found

        found: list[JsonObject] = self._once((path, tuple(sorted(query.items()))), read)
        return found

    def path(self, path: str) -> JsonObject:
        """Something beside the objects, /version say; an empty object if it is not there."""
        found: JsonObject = self._once((path, ()), lambda: self._again(f"get {path}", path, "") or {})
        return found

    def _once(self, key: tuple[str, tuple[tuple[str, str], ...]], read: Any) -> Any:
        if key not in self._seen:
            self._seen[key] = read()
        return self._seen[key]

    def _ask(self, verb: str, kind: Kind, path: str, namespace: str, **query: str) -> JsonObject | None:
        return self._again(f"{verb} {kind.shown}", path, namespace if kind.namespaced else "", **query)

    def _again(self, doing: str, path: str, namespace: str, **query: str) -> JsonObject | None:
        """Again while the API server does not answer."""
        while True:
            self._deadline.check(f"asking the API server to {doing}")
            try:
                return self._cluster.ask(doing, "GET", path, namespace, query=query)
            except ClusterError as err:
                if err.status == 403:
                    raise Denied(doing, namespace) from err
                if not err.passes or self._deadline.remaining() <= POLL_SECONDS:
                    raise
                self._deadline.sleep(POLL_SECONDS)
