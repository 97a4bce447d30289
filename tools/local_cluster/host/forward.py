"""Local ports into the cluster's network namespace, so that curl, kubectl and browsers need not know of it.

The parent binds 127.0.0.1 in the machine's own namespace and hands the sockets to a child that was started inside the
cluster's namespace: a socket stays where it was made, a connection is opened where the process is. The child is a
process of its own and outlives `make up`; `make down` ends it by its pid file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from ..problem import Problem
from ..run import log_file
from ..settings import PLACES
from . import netns


def _pid_file() -> Path:
    return PLACES.state / "forward.pid"


def running() -> bool:
    """Whether the process in the pid file is ours and alive (a pid may have been given to another program)."""
    try:
        pid = int(_pid_file().read_text())
        return b"local_cluster.host.forward" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return False


def ensure(ports: list[int]) -> None:
    """Forward 127.0.0.1:port on the machine to 127.0.0.1:port in the namespace, for each port."""
    if running():
        return
    listeners = []
    for port in ports:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise Problem(
                f"port 127.0.0.1:{port} is taken by another program", f"end it (`ss -ltnp sport = :{port}` names it)"
            ) from error
        listener.listen(128)
        listeners.append(listener)
    pairs = [f"{listener.fileno()}:{port}" for listener, port in zip(listeners, ports, strict=True)]
    with log_file("forward").open("ab") as log:
        child = subprocess.Popen(
            netns.enter([sys.executable, "-m", __name__, *pairs]),
            pass_fds=[listener.fileno() for listener in listeners], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
    _pid_file().parent.mkdir(parents=True, exist_ok=True)
    _pid_file().write_text(str(child.pid))
    for listener in listeners:
        listener.close()


def stop() -> None:
    if running():
        pid = int(_pid_file().read_text())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while running() and time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.05)
    _pid_file().unlink(missing_ok=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(ConnectionError, RuntimeError, OSError):
        writer.write_eof()


async def serve(listener: socket.socket, port: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))
        for side in (writer, there_writer):
            side.close()

    server = await asyncio.start_server(connected, sock=listener)
    await server.serve_forever()


async def _main(pairs: list[str]) -> None:
    split = [pair.split(":") for pair in pairs]
    await asyncio.gather(*(serve(socket.socket(fileno=int(fd)), int(port)) for fd, port in split))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
