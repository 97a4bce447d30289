"""Whether LMCache runs in vLLM's process or in a server of its own, and which container that is."""

from __future__ import annotations

import re
from itertools import pairwise

from . import containers
from .outcome import Json, Refused

CONNECTOR = "LMCacheMPConnector"
SHELL_LINE = r"(^|[^A-Za-z0-9_.-])lmcache[ \t\n\r]+server($|[^A-Za-z0-9_.-])"
"""A token in which a shell would start the server: the patch could not tell its arguments."""
_SHELL_LINE = re.compile(SHELL_LINE)
_FIX = "start it by a list in a container of its own: command: [lmcache, server]"


def server_of(spec: Json, worker: Json) -> Json | None:
    """The container of LMCache's server; None: LMCache runs in the worker's process. Raises Refused."""
    inits = spec.get("initContainers") or []
    for container in (*spec["containers"], *inits):
        if any(_SHELL_LINE.search(token) for token in containers.tokens(container)):
            raise Refused(f"container {container['name']} starts lmcache server in a shell line", _FIX)
    for container in inits:
        if _is_server(container):
            raise Refused(f"init container {container['name']} runs lmcache server", _FIX)
    found = [each for each in spec["containers"] if each is not worker and _is_server(each)]
    if len(found) > 1:
        raise Refused(
            f"containers {', '.join(each['name'] for each in found)} all run lmcache server", "leave one of them"
        )
    if not found and _connects(worker):
        raise Refused(f"container {worker['name']} has {CONNECTOR}, and no container runs lmcache server", _FIX)
    return found[0] if found else None


def _is_server(container: Json) -> bool:
    return any(
        (first == "lmcache" or first.endswith("/lmcache")) and second == "server"
        for first, second in pairwise(containers.tokens(container))
    )


def _connects(worker: Json) -> bool:
    values = (entry.get("value", "") for entry in worker.get("env") or ())
    return any(CONNECTOR in text for text in (*containers.tokens(worker), *values))
