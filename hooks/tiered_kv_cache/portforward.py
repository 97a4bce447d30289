"""Reach Pods from outside the cluster: loopback ports that the API server forwards into Pods.

Port forwarding ends inside the Pod's network namespace, so that a NetworkPolicy does not stop it; the API server's
proxy does not get past one.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

from .pods import Pod

Dial = Callable[[str, str, int], Any]
"""(namespace, Pod, port) -> an open socket to that port."""


def kubernetes_dial(api: Any) -> Dial:
    """Dial through the official client; ``api`` is a kubernetes.client.CoreV1Api."""
    from kubernetes.stream import portforward  # noqa: PLC0415

    def dial(namespace: str, pod: str, port: int) -> Any:
        forward = portforward(api.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port))
        return forward.socket(port)

    return dial


class PortForward:
    """A verify.reach.Reach: one listener on 127.0.0.1 a Pod and port, one forwarded stream a connection."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._listeners: dict[tuple[str, str, int], socket.socket] = {}

    def url(self, pod: Pod, port: int) -> str:
        """Base URL on loopback; the listener starts with the first call."""
        key = (pod.namespace, pod.name, port)
        if key not in self._listeners:
            listener = socket.create_server(("127.0.0.1", 0))
            self._listeners[key] = listener
            threading.Thread(target=self._accept, args=(listener, key), daemon=True).start()
        return f"http://127.0.0.1:{self._listeners[key].getsockname()[1]}"

    def close(self) -> None:
        """Stop listening; open connections end with their clients."""
        for listener in self._listeners.values():
            # close alone does not wake the thread in accept.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self._listeners.clear()

    def _accept(self, listener: socket.socket, key: tuple[str, str, int]) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client, key), daemon=True).start()

    def _join(self, client: socket.socket, key: tuple[str, str, int]) -> None:
        try:
            remote = self._dial(*key)
        except Exception:  # The client library raises many kinds; to the HTTP client it is a connection that closed.
            client.close()
            return
        threading.Thread(target=_pump, args=(client, remote), daemon=True).start()
        _pump(remote, client)


def _pump(source: Any, sink: Any) -> None:
    """Copy until one side ends, then close both."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
