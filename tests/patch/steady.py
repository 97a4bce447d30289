"""Tries the same Pod again and again while something else happens."""

from __future__ import annotations

import threading
from types import TracebackType

from scheduling.api import Api

from .cases.model import Case
from .judge import faults

EACH_SECONDS = 0.2


class Steady:
    """A context in which a case is tried every EACH_SECONDS.

    Args:
        api: the API server.
        case: one that is patched.
    """

    def __init__(self, api: Api, case: Case) -> None:
        self._api, self._case = api, case
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.tries = 0
        self.faults: list[str] = []

    def __enter__(self) -> Steady:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def more(self, count: int) -> None:
        """Return after so many further tries."""
        wanted = self.tries + count
        while self.tries < wanted:
            self._over.wait(EACH_SECONDS / 4)

    def _run(self) -> None:
        while not self._over.wait(EACH_SECONDS):
            self.faults += faults(self._api, self._case)
            self.tries += 1
