"""The server's certificate, taken anew when its files change."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

CERTIFICATE, KEY = "tls.crt", "tls.key"


class Certificate:
    """A certificate and its key in a folder that somebody else replaces.

    Args:
        folder: of `tls.crt` and `tls.key`.
        say: takes a line for the log.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._files = (folder / CERTIFICATE, folder / KEY)
        self._say = say
        self._lock = threading.Lock()
        self._seen: object = None
        self._context: ssl.SSLContext | None = None
        self._end = 0.0

    def end(self) -> float:
        """When the certificate in use ends, in seconds since 1970; 0: there is none."""
        return self._end

    def context(self) -> ssl.SSLContext | None:
        """What new connections are to use; the last good one while the files do not fit. None: there was none yet."""
        with self._lock:
            try:
                if (seen := [_stamp(file) for file in self._files]) != self._seen:
                    self._context, self._end = self._load(), self._read_end()
                    self._say("certificate read")
                    self._seen = seen
            except (OSError, ValueError) as err:
                self._complain(err)
            return self._context

    def _load(self) -> ssl.SSLContext:
        # A new one each time: connections under way keep the one that they began with.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(*self._files)
        return context

    def _read_end(self) -> float:
        # Imported here: the server needs nothing else of it.
        from cryptography import x509  # noqa: PLC0415

        return x509.load_pem_x509_certificate(self._files[0].read_bytes()).not_valid_after_utc.timestamp()

    def _complain(self, err: Exception) -> None:
        if self._seen != str(err):
            self._seen = str(err)
            self._say(f"certificate not read: {err}")


def _stamp(file: Path) -> tuple[int, int, int]:
    found = os.stat(file)  # noqa: PTH116 - asked for at every connection
    return found.st_mtime_ns, found.st_ino, found.st_size
