"""LMCache in a server of its own: it is told by the server's arguments."""

from __future__ import annotations

import json

from . import containers, names
from .outcome import Json, Refused
from .parameters import Parameters

ADAPTER = "--l2-adapter"
PREFETCH = ("--l2-prefetch-policy", "retain")


def configure(server: Json, base_path: str, parameters: Parameters, model: str, *, guarded: bool) -> None:
    """Set the server's arguments and environment.

    Args:
        guarded: this release's adapter, whose code an init container has put into the Pod; else LMCache's own `fs`.

    Raises:
        Refused: it has settings that the patch can neither keep nor change.
    """
    _arguments(server, _adapter(base_path, parameters) if guarded else _fs(base_path))
    ours = {}
    if guarded:
        path = containers.text(server, names.ENV_PYTHON_PATH) or ""
        there = path == names.CODE_PATH or path.startswith(f"{names.CODE_PATH}:")
        ours[names.ENV_PYTHON_PATH] = path if there else f"{names.CODE_PATH}{':' if path else ''}{path}"
    containers.set_env(server, ours, parameters.hash_seed(model))


def _arguments(server: Json, adapter: str) -> None:
    args = server.get("args") or []
    if args and any(_is_adapter(token) for token in server.get("command") or ()):
        raise Refused(
            f"container {server['name']} has {ADAPTER} in command beside args",
            f"leave {ADAPTER} out: the patch sets it",
        )
    found: list[str] = args or server["command"]
    kept = [
        token
        for before, token in zip([None, *found], found, strict=False)
        if not _is_adapter(token) and before != ADAPTER
    ]
    flag = PREFETCH[0]
    if not any(token == flag or token.startswith(f"{flag}=") for token in containers.tokens(server)):
        kept += PREFETCH
    server["args" if args else "command"] = [*kept, ADAPTER, adapter]


def _is_adapter(token: str) -> bool:
    return token == ADAPTER or token.startswith(f"{ADAPTER}=")


def _fs(base_path: str) -> str:
    return _json({"type": "fs", "base_path": base_path, "relative_tmp_dir": names.TMP_DIR})


def _adapter(base_path: str, parameters: Parameters) -> str:
    """Ours, as JSON; the release's own members are not read, since the policy could not."""
    given = parameters.get("adapterParams").strip()
    members = given[1:-1].strip() if given.startswith("{") and given.endswith("}") else ""
    params = _json({"base_path": base_path, "pod": f"$({names.ENV_POD_NAME})"})
    about = _json({"type": "plugin", "module_path": "tiered_kv_cache.l2.adapter", "class_name": "FilesystemL2Adapter"})
    return f'{about[:-1]},"adapter_params":{params[:-1]}{"," if members else ""}{members}}}}}'


def _json(content: dict[str, str]) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)
