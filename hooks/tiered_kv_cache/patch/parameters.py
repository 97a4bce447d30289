"""The parameter object: flat keys and texts, as a ConfigMap has them (docs/l2-patch.md, The parameter object)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .outcome import Refused


@dataclass(frozen=True)
class Parameters:
    """The keys of one namespace.

    Args:
        data: all keys of the object.
        namespace: whose keys are asked for.
    """

    data: Mapping[str, str]
    namespace: str

    def get(self, *path: str, default: str = "") -> str:
        """`<namespace>.<path>`, or the default."""
        return self.data.get(".".join((self.namespace, *path)), default)

    def need(self, *path: str) -> str:
        """As `get`. Raises Refused where it is missing or empty."""
        found = self.get(*path)
        if not found:
            raise Refused(
                f"the parameter object has no key {'.'.join((self.namespace, *path))}",
                "upgrade the release that renders it, and give this namespace to it",
            )
        return found

    def hash_seed(self, model: str) -> str:
        """`PYTHONHASHSEED` of a model; empty: the patch sets none."""
        return self.get(model, "hashSeed") or self.get("hashSeed")
