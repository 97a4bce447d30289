"""Containers of a Pod, their tokens and their environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import names
from .outcome import Json, Refused


def named(containers: Iterable[Json] | None, name: str) -> Json | None:
    """The one of that name."""
    return next((each for each in containers or () if each.get("name") == name), None)


def tokens(container: Json) -> list[str]:
    """Its command, followed by its args."""
    return [*(container.get("command") or ()), *(container.get("args") or ())]


def entries(container: Json, name: str) -> list[Json]:
    """All entries of that name in its environment; the last one counts."""
    return [entry for entry in container.get("env") or () if entry["name"] == name]


def text(container: Json, name: str) -> str | None:
    """Value of an environment variable as written. None: absent.

    Raises:
        Refused: it is taken from elsewhere, so that nobody knows it yet.
    """
    found = entries(container, name)
    if not found:
        return None
    if "valueFrom" in found[-1]:
        raise Refused(
            f"container {container['name']} takes {name} from elsewhere (valueFrom)", f"give {name} as a plain value"
        )
    return str(found[-1].get("value", ""))


def set_env(container: Json, ours: dict[str, str], seed: str) -> None:
    """Put `POD_NAME` first and `ours` last, in place of all entries of those names; the others keep their order.

    Args:
        ours: variables that the patch owns.
        seed: `PYTHONHASHSEED` where the container has none; empty: none. It stands before `ours`, where a second patch leaves it.

    Raises:
        Refused: `POD_NAME` is there and something else.
    """
    for entry in entries(container, names.ENV_POD_NAME):
        if entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath") != "metadata.name":
            raise Refused(
                f"container {container['name']} has {names.ENV_POD_NAME}, and not from the Pod's own name (fieldRef metadata.name)",
                "take it out of the worker's environment variables, or give it another name",
            )
    kept = [entry for entry in container.get("env") or () if entry["name"] not in (names.ENV_POD_NAME, *ours)]
    pod_name: dict[str, Any] = {
        "name": names.ENV_POD_NAME,
        "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
    }
    added = [{"name": name, "value": value} for name, value in ours.items()]
    container["env"] = [pod_name, *kept]
    set_seed(container, seed)
    container["env"] += added


def set_seed(container: Json, seed: str) -> None:
    """Add `PYTHONHASHSEED` at the end if the container has none and there is one to give."""
    if seed and not entries(container, names.ENV_HASH_SEED):
        container["env"] = [*(container.get("env") or ()), {"name": names.ENV_HASH_SEED, "value": seed}]


def seed_warnings(container: Json, seed: str) -> list[str]:
    """A line if its `PYTHONHASHSEED` is another one than the release's."""
    found = entries(container, names.ENV_HASH_SEED)
    if not seed or not found or "valueFrom" in found[-1] or found[-1].get("value", "") == seed:
        return []
    return [
        f"container {container['name']} has {names.ENV_HASH_SEED} {found[-1].get('value', '')!r}, the release {seed!r}: "
        "it is kept, and blocks of Pods with the other one are not found"
    ]
