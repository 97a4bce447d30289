"""An admission case: data that every mechanism is run with."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

CLAIM, MOUNT_PATH, SEED = "kv-l2", "/mnt/kv-l2", "123"
BASE: dict[str, str] = {"models": "*", "claim": CLAIM, "mountPath": MOUNT_PATH, "hashSeed": SEED, "adapter": "guarded"}
"""Parameters of a case that says nothing else."""
ANNOTATION = {"tiered-kv-cache.io/l2-patch": "v1"}


@dataclass(frozen=True)
class Untouched:
    """Created as it is."""


@dataclass(frozen=True)
class Refused:
    """Not created; each of the texts stands in the message, which begins with `tiered-kv-cache L2 patch: `."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Patched:
    """Created, and changed in these places only.

    Args:
        parts: what stands at a place afterwards. A place is a path of keys; one of them picks a container, init container or
            volume by its name. The annotation need not be named.
        warnings: each of the texts stands in a warning.
    """

    parts: dict[tuple[str, ...], Any]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One Pod that somebody wants to create.

    Args:
        name: in the tests' output, and of its namespace.
        parameters: keys without the namespace in front, which is the test's own; None: there is no parameter object.
        namespace: a fixed one, for those that are never touched; else each case has one of its own.
        listed: the release lists the namespace, so the mechanism's selectors name it.
    """

    name: str
    pod: Json
    expected: Untouched | Refused | Patched
    parameters: dict[str, str] | None = field(default_factory=lambda: dict(BASE))
    namespace: str = ""
    listed: bool = True

    @property
    def place(self) -> str:
        """Its namespace."""
        return self.namespace or f"case-{self.name}"

    def flat(self) -> dict[str, str]:
        """Its part of a parameter object that holds those of many cases."""
        return {f"{self.place}.{key}": value for key, value in (self.parameters or {}).items()}

    def result(self) -> Json:
        """The Pod as it must be afterwards."""
        assert not isinstance(self.expected, Refused)
        pod = copy.deepcopy(self.pod)
        if isinstance(self.expected, Untouched):
            return pod
        for path, value in self.expected.parts.items():
            _set(pod, path, value)
        metadata = pod["metadata"]
        metadata["annotations"] = {**metadata.get("annotations", {}), **ANNOTATION}
        return pod


def _set(content: Any, path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        content = next(each for each in content if each["name"] == key) if isinstance(content, list) else content[key]
    content[path[-1]] = copy.deepcopy(value)
