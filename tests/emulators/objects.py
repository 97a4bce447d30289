"""An API server's objects by their paths, as `KubernetesCluster.ask` gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tiered_kv_cache.cluster import ClusterError

Json = dict[str, Any]


def denial(doing: str, namespace: str, status: int = 403, message: str = "") -> ClusterError:
    """As the client raises it."""
    where = f"in namespace {namespace}" if namespace else "in the cluster"
    return ClusterError(
        f"may not {doing} {where} ({status})", status=status, message=message, passes=status == 429 or status >= 500
    )


class FakeObjects:
    """`objects`: by path; a list is made of all below it. `denied`: what is refused, as in "list nodes".

    `post` answers POST; it gets path and body.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.denied: set[str] = set()
        self.asked: list[str] = []
        self.fails = 0
        self.post: Callable[[str, Json], Json] = lambda path, body: body

    def ask(
        self,
        doing: str,
        method: str,
        path: str,
        namespace: str = "",
        *,
        body: Json | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Json | None:
        """See KubernetesCluster.ask."""
        self.asked.append(doing)
        if self.fails:
            self.fails -= 1
            raise ClusterError("the API server does not answer", passes=True)
        if doing in self.denied:
            raise denial(doing, namespace)
        if method == "POST":
            return self.post(path, body or {})
        if doing.startswith("list "):
            found = [value for key, value in self.objects.items() if self._listed(path, key)]
            return {"items": found, "metadata": {}}
        return self.objects.get(path)

    def _listed(self, path: str, key: str) -> bool:
        """Below the path, or of any namespace below it."""
        head, _, plural = path.rpartition("/")
        if not key.startswith(f"{head}/"):
            return False
        rest = key.removeprefix(f"{head}/").split("/")
        return rest[:-1] == [plural] or (rest[0] == "namespaces" and rest[2:-1] == [plural])

    def add(self, path: str, found: Json) -> Json:
        """Put an object at a path; its name and namespace follow from it."""
        parts = path.split("/")
        meta = found.setdefault("metadata", {})
        meta.setdefault("name", parts[-1])
        if "namespaces" in parts[:-2]:
            meta.setdefault("namespace", parts[parts.index("namespaces") + 1])
        self.objects[path] = found
        return found
