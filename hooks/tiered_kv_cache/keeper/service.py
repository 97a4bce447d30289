"""The keeper as a process: one thread for the volume, one for the Lease, one for HTTP, and the main one that watches them.

A thread that hangs in a mount cannot be ended. While it hangs, the Lease is renewed: another keeper would only hang as well.
After ``giveUpAfter`` it is given back on purpose, and the process ends: on another node the mount may work, and a mount whose
FUSE process died heals only in a new Pod. What the stuck thread can still do then is the one operation it is in.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable

from .config import Settings
from .keeper import Keeper
from .kube import KubeLease
from .lease import LeaseLost, Right

STOPPED, FAILED = 0, 1
POLL_SECONDS = 0.5
RETRY_SECONDS = 5.0
RELEASE_SECONDS = 5.0
REMOUNT = (errno.ENOTCONN, errno.ENODEV)
"""Of a mount whose process is gone; only a new Pod gets a new one."""


class Service:
    """Runs a keeper until it is told to stop, or must not go on. ``leave`` ends the process."""

    def __init__(
        self, keeper: Keeper, right: Right, election: KubeLease | None, say: Callable[[str], None],
        leave: Callable[[int], None] = os._exit,
    ) -> None:  # fmt: skip
        self._keeper, self._right, self._election, self._say, self._leave = keeper, right, election, say, leave
        self._settings: Settings = keeper.x.settings
        self._ended = threading.Event()
        self._code = STOPPED
        self._told = ""

    def run(self) -> None:
        """Until the end; leaves with 0 when told to stop, else 1."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: self._right.stop.set())
            signal.signal(signal.SIGINT, lambda *_: self._right.stop.set())
        if self._election is not None:
            self._election.start()
        threading.Thread(target=self._work, name="volume", daemon=True).start()
        while not self._ended.wait(POLL_SECONDS):
            seconds, what = self._keeper.watch.stuck()
            if self._right.stop.is_set() and seconds > RELEASE_SECONDS:
                self._say(f"told to stop while the volume does not answer: {what}")
                break
            if seconds > self._settings.give_up:
                self._say(f"the volume has not answered for {seconds:.0f} s ({what}); gives the lease back and ends")
                self._code = FAILED
                break
        if self._election is not None:
            self._election.give_up()
        sys.stdout.flush()
        # Not by return: a thread that hangs in the volume would keep the process alive.
        self._leave(self._code)

    def _work(self) -> None:
        try:
            while not self._right.stop.is_set():
                self._lead()
        except LeaseLost as err:
            # A start from nothing is the only state that is surely right.
            if not self._right.stop.is_set():
                self._say(f"lease lost: {err}; stops at once")
                self._code = FAILED
        except OSError as err:
            self._say(f"the volume is gone ({err.strerror}); ends, since only a new Pod gets a new mount")
            self._code = FAILED
        except BaseException as err:
            self._say(f"fault in the keeper: {type(err).__name__}: {err}")
            self._code = FAILED
        finally:
            self._release()
            self._ended.set()

    def _lead(self) -> None:
        state = self._keeper.state
        if not state.leading:
            taken = self._guarded(self._right.take)
            state.leading = bool(taken)
            if not taken:
                if not state.problem:
                    state.problem = self._waits()
                    if state.problem != self._told:
                        self._told = state.problem
                        self._say(f"waits: {self._told}")
                self._right.stop.wait(POLL_SECONDS if self._election else RETRY_SECONDS)
                return
            self._say("holds the lease")
            state.problem = ""
        self._right.check()
        done = self._guarded(self._tick)
        if not done:
            self._keeper.abandon_sweep()
        self._right.stop.wait(RETRY_SECONDS if not done else self._settings.tick)

    def _tick(self) -> bool:
        self._keeper.tick(self._settings.tick)
        return True

    def _guarded(self, work: Callable[[], bool]) -> bool:
        """False after an error of the volume, which may pass."""
        state = self._keeper.state
        try:
            done = work()
        except OSError as err:
            if err.errno in REMOUNT:
                raise
            state.problem = f"the volume: {err.strerror}"
            self._keeper.x.events.say("VolumeFault", str(err.errno), f"the volume: {err.strerror}; tries again")
            return False
        state.problem = ""
        return done

    def _waits(self) -> str:
        problem = self._election.problem if self._election is not None else ""
        other = self._right.fence.other if self._right.fence is not None else ""
        if other and not problem:
            problem = (
                f"the keeper {other} works on this volume, and takes over nothing of this one's settings. Fix: none is needed; "
                "to have this release's quotas held, give them to that keeper (l2.keeper.linesOfBusiness)"
            )
        return problem or "another keeper holds the lease, or there is no tree yet"

    def _release(self) -> None:
        try:
            if self._right.fence is not None and self._keeper.state.leading and self._code == STOPPED:
                self._right.stop.clear()
                self._keeper.settle()
                self._right.fence.release()
        except (OSError, LeaseLost) as err:
            self._say(f"could not write its record at the end: {err}")
        finally:
            self._keeper.state.leading = False
