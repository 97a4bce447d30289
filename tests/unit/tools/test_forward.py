"""The forwarder copies both ways, half-closes, and survives a target that is not there."""

from __future__ import annotations

import asyncio
import socket

from local_cluster.host import forward


def _listener() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


async def _echo_upper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write((await reader.read()).upper())  # answers only when the client has closed its half
    writer.write_eof()
    writer.close()


async def _talk(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


async def _through(target_alive: bool) -> bytes:
    target, front = _listener(), _listener()
    target_port, front_port = target.getsockname()[1], front.getsockname()[1]
    if target_alive:
        server = await asyncio.start_server(_echo_upper, sock=target)
    else:
        target.close()
    task = asyncio.create_task(forward.serve(front, target_port))
    try:
        return await _talk(front_port, b"x" * 200_000)
    finally:
        task.cancel()
        if target_alive:
            server.close()


def test_both_ways_with_half_close() -> None:
    assert asyncio.run(_through(target_alive=True)) == b"X" * 200_000


def test_dead_target_closes_the_connection() -> None:
    try:
        answer = asyncio.run(_through(target_alive=False))
    except ConnectionError:
        answer = b""
    assert answer == b""
