"""The control socket: one JSON object a line, answered by one JSON object a line."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import kinds
from .rules import Rules
from .watch import Watch

Json = dict[str, Any]


def answer(request: Mapping[str, Any], rules: Rules, watch: Watch) -> Json:
    """What one request gets. `{"do": "add", "rule": {...}}` and so on, see docs/faultfs.md.

    Raises:
        ValueError: the request is wrong; the text says how.
    """
    number, outcome = request.get("number"), str(request.get("outcome", ""))
    if outcome and outcome not in ("proceed",) and kinds.faults({"kind": "hang", "params": {"then": outcome}}):
        raise ValueError(f"outcome={outcome!r}. fix: `proceed` or the name of an errno, such as EIO")
    actions: Mapping[str, Callable[[], Json]] = {
        "ping": lambda: {"pid": os.getpid()},
        "add": lambda: {"number": rules.add(request["rule"])},
        "remove": lambda: {"removed": rules.remove(_number(number), outcome)},
        "release": lambda: {"released": rules.release(_number(number), outcome)},
        "clear": lambda: {"removed": rules.remove(None, outcome)},
        "rules": lambda: {"rules": rules.describe()},
        "counters": lambda: dict(watch.counters()),
        "under_way": lambda: {"under_way": watch.under_way()},
    }
    action = actions.get(str(request.get("do")))
    if action is None:
        raise ValueError(f"do={request.get('do')!r}: unknown. fix: one of {', '.join(actions)}")
    if request["do"] == "add" and not isinstance(request.get("rule"), dict):
        raise ValueError(f'rule={request.get("rule")!r}: not an object. fix: {{"kind": "error", "ops": ["read"]}}')
    return action()


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"number={value!r}: not a rule's number. fix: the one that `add` answered")
    return value


class Control:
    """A server on a unix socket, a thread a connection. Only the owner of the process may connect."""

    def __init__(self, path: Path, rules: Rules, watch: Watch) -> None:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                for line in self.rfile:
                    try:
                        request = json.loads(line)
                        if not isinstance(request, dict):
                            raise ValueError(f'{line!r}: not an object. fix: {{"do": "rules"}}')
                        given = answer(request, rules, watch)
                    except ValueError as error:
                        given = {"error": str(error)}
                    self.wfile.write(json.dumps(given).encode() + b"\n")

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            self._server = Server(str(path), Handler)
        finally:
            os.umask(before)
        self._path = path

    def start(self) -> None:
        """Serve in a thread of its own."""
        threading.Thread(target=self._server.serve_forever, name="control", daemon=True).start()

    def close(self) -> None:
        """Nobody connects any more."""
        self._server.server_close()
        self._path.unlink(missing_ok=True)
