"""Ports for servers that tests start as processes of their own."""

from __future__ import annotations

import os
import socket
from itertools import cycle, islice

_FIRST, _EACH, _WORKERS = 11_000, 1_100, 16


def _first_port(worker: str | None) -> int:
    """Of a test process: a worker of pytest-xdist (`gw3`), or the one without workers that `make test` runs beside them."""
    return _FIRST + (int(worker.removeprefix("gw")) % _WORKERS if worker else _WORKERS) * _EACH


_OWN = _first_port(os.environ.get("PYTEST_XDIST_WORKER"))
_NEXT = cycle(range(_OWN, _OWN + _EACH))


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on, all different, and not given again soon.

    A port that the kernel chooses (bind to 0) is free only at that moment: until the server listens, any connection of
    any process may take it as its own end, and a test process beside this one as its server's. These lie outside the
    range of such connections, and each test process has its own.

    Raises:
        OSError: all ports of this test process are taken.
    """
    found: list[int] = []
    for port in islice(_NEXT, _EACH):
        if len(found) == count:
            break
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    if len(found) < count:
        raise OSError(f"no {count} free ports in {_OWN} to {_OWN + _EACH - 1}")
    return found


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]
