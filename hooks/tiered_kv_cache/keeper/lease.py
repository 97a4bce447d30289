"""Only one keeper acts on a volume: a Kubernetes Lease where there is one, and always a mark in the tree.

The Lease chooses; the mark is looked at before each few deletes, so that a keeper that was only slow, or cut off from the
API server, learns at the volume itself that another one has taken over.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from ..l2 import paths
from . import layout
from .tree import NO_SPACE, Tree

MOST_BYTES = 4096
SETTLE_SECONDS = 1.0
"""Between writing the mark and believing it: of two that write at once, the last one stays."""
CHECK_SECONDS = 2.0
BEATS = 6


class LeaseLost(Exception):
    """Another keeper has the volume, or may have it."""


class Election(Protocol):
    """The Kubernetes Lease, or what stands for it in a test."""

    @property
    def held(self) -> bool:
        """This process may act, by its own clock."""
        ...


class Fence:
    """The mark ``v1/.keeper/holder``: who acts, and a beat that changes while he is alive.

    ``election``: name of what chooses among keepers, empty for none. It says nothing of keepers that others choose: those of
    another release on the same volume.
    """

    def __init__(
        self, tree: Tree, identity: str, seconds: float, clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep, *, election: str = "",
    ) -> None:  # fmt: skip
        self._tree, self._identity, self._seconds, self._election = tree, identity, seconds, election
        self.other = ""
        """Who was found alive at the last try."""
        self._clock, self._sleep = clock, sleep
        self._token = secrets.token_hex(8)
        self._beat = 0
        self._beaten = 0.0
        self._seen: tuple[str, float] | None = None
        self._instead: str | None = None
        """The mark of an earlier holder, which stands while this one's cannot be written."""

    def take(self, chosen: bool) -> bool:
        """Become the holder; False while another one may be alive, or there is no tree yet.

        ``chosen``: the election says that no other one of its own is; else an unchanged beat for the lease's length says so.
        """
        said = self._read()
        chosen = chosen and said.get("election", self._election) == self._election
        self.other = ""
        if not chosen and said and not said.get("released") and said.get("token") != self._token:
            mark = json.dumps(said, sort_keys=True)
            if self._seen is None or self._seen[0] != mark:
                self._seen = (mark, self._clock())
            if self._clock() - self._seen[1] < self._seconds:
                self.other = str(said.get("identity", ""))
                return False
        self._instead = None
        try:
            if not self._write():
                return False
        except OSError as err:
            # A full volume takes no mark, and needs a keeper most: the election decides, as long as nobody else writes one.
            if err.errno not in NO_SPACE or not chosen:
                raise
            self._instead = said.get("token", "")
            return True
        if not chosen:
            self._sleep(SETTLE_SECONDS)
        return self._read().get("token") == self._token

    def check(self) -> None:
        """Raises LeaseLost if the mark is another one's; beats when it is time."""
        token = self._read().get("token", "")
        if token not in {self._token, self._instead}:
            raise LeaseLost(f"{layout.VERSION}/{paths.KEEPER}/{layout.HOLDER} names another keeper")
        if self._clock() - self._beaten >= self._seconds / BEATS:
            try:
                self._write()
            except OSError as err:
                if err.errno not in NO_SPACE:
                    raise
                self._beaten = self._clock()

    def release(self) -> None:
        """Let the next one begin at once."""
        if self._read().get("token") == self._token:
            self._write(released=True)

    def _read(self) -> dict[str, Any]:
        with self._tree.top() as top, self._tree.directory(top, layout.VERSION, paths.KEEPER) as own:
            found = self._tree.read(own, layout.HOLDER, MOST_BYTES) if own is not None else None
        try:
            said = json.loads(found[0]) if found else {}
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    def _write(self, released: bool = False) -> bool:
        self._beat += 1
        said = {
            "identity": self._identity, "token": self._token, "beat": self._beat, "released": released,
            "election": self._election,
        }  # fmt: skip
        with (
            self._tree.top() as top,
            self._tree.directory(top, layout.VERSION) as root,
        ):
            if root is None:
                return False
            with self._tree.directory(root, paths.KEEPER, make=True) as own:
                if own is None:
                    return False
                self._tree.write(own, layout.HOLDER, [json.dumps(said).encode()])
        self._beaten = self._clock()
        return True


class Right:
    """The right to act: election and fence together. ``check`` is called before each change, so it is cheap."""

    def __init__(
        self, fence: Fence | None, election: Election | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.fence, self.election, self._clock = fence, election, clock
        self.stop = threading.Event()
        """Set to end at the next check."""
        self._checked = -1e9

    def take(self) -> bool:
        """Try to get it."""
        if self.election is not None and not self.election.held:
            return False
        taken = self.fence is None or self.fence.take(chosen=self.election is not None)
        self._checked = self._clock() if taken else -1e9
        return taken

    def check(self) -> None:
        """Raises LeaseLost."""
        if self.stop.is_set():
            raise LeaseLost("told to stop")
        if self.election is not None and not self.election.held:
            raise LeaseLost("the Lease was not renewed in time, or is another one's")
        if self.fence is not None and self._clock() - self._checked >= CHECK_SECONDS:
            self._checked = self._clock()
            self.fence.check()
