"""Looks at mounts with a deadline. A mount that hangs holds one helper process, however long it hangs."""

from __future__ import annotations

import errno
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import mounts, probe

ALIVE, ABSENT, DEAD, HUNG, ERROR = STATES = ("alive", "absent", "dead", "hung", "error")
DEAD_ERRNOS = (errno.ENOTCONN, errno.ESTALE, errno.EIO)
START_SECONDS = 10.0
"""For a helper to run, which says nothing about its mount."""
MOST_LEFT = 4
"""Helpers that hang in mounts that are gone. With more of them no new mount at this place is asked."""


@dataclass(frozen=True)
class Outcome:
    """What a look found. ``detail``: the error's name or a reason, for people; ``took``: seconds of answered calls."""

    state: str
    detail: str = ""
    took: tuple[float, ...] = ()


class _Helper:
    """Raises OSError if it does not start."""

    def __init__(self, mount: int, path: str) -> None:
        self.mount = mount
        self.asked = False
        # -I, -S: only the standard library, which is a start of 10 ms.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(probe.__file__)), path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, cwd="/",
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self.answers = self._process.stdin, self._process.stdout
        if not self.answered(START_SECONDS) or not os.read(self.answers.fileno(), 1):
            self._process.kill()
            self.leave()
            raise OSError(0, "it did not start")

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self) -> None:
        """Begin a look; OSError if the helper ended."""
        self._to.write(b"\n")
        self.asked = True

    def answered(self, seconds: float = 0.0) -> bool:
        """Whether there is an answer, or the helper's end, within ``seconds``."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.answers, selectors.EVENT_READ)
            return bool(selector.select(seconds))

    def take(self) -> tuple[int, bool, float] | None:
        """The answer, which is there; None if the helper ended."""
        words = os.read(self.answers.fileno(), 100).split()
        self.asked = False
        return (int(words[0]), words[1] == b"1", float(words[2])) if len(words) == 3 else None

    def leave(self) -> None:
        """Let it end; one that hangs does so when its call comes back."""
        self._to.close()
        self.answers.close()

    def ended(self) -> bool:
        return self._process.poll() is not None


class Prober:
    """One place where the pool is mounted."""

    def __init__(self, name: str, path: str, mountinfo: Path = mounts.MOUNTINFO) -> None:
        self.name, self._path, self._mountinfo = name, path, mountinfo
        self._helper: _Helper | None = None
        self._left: list[_Helper] = []
        self._took: list[float] = []

    def helpers(self) -> list[int]:
        """Process numbers of those that live."""
        return [h.pid for h in (*self._left, *([self._helper] if self._helper else [])) if not h.ended()]

    def begin(self) -> Outcome | _Helper:
        """Begin a look: what is known at once, or the helper whose answer is to be awaited."""
        self._left = [helper for helper in self._left if not helper.ended()]
        self._took = []
        mount = mounts.at(self._path, self._mountinfo)
        helper = self._helper
        if helper is not None and (mount is None or helper.mount != mount.number or helper.ended()):
            # A call that hangs in a mount that was taken away says nothing about the next one.
            helper.leave()
            self._left.append(helper)
            self._helper = helper = None
        if mount is None:
            return Outcome(ABSENT)
        if helper is None and len(self._left) >= MOST_LEFT:
            return Outcome(HUNG, f"{len(self._left)} calls hang in earlier mounts")
        try:
            if helper is None:
                helper = self._helper = _Helper(mount.number, self._path)
            if helper.asked and not helper.answered():
                return Outcome(HUNG)
            if helper.asked:
                # Later than its deadline, which was told; now it counts again.
                late = helper.take()
                self._took += [late[2]] if late else []
            helper.ask()
        except OSError as err:
            return Outcome(ERROR, f"no helper process: {err.strerror}")
        return helper

    def end(self, helper: _Helper) -> Outcome:
        """The outcome of an answer that is there."""
        found = helper.take()
        if found is None:
            return Outcome(ERROR, "the helper process ended")
        number, bare, seconds = found
        return Outcome(*_state(number, bare), (*self._took, seconds))

    def hung(self) -> Outcome:
        """The outcome of no answer."""
        return Outcome(HUNG, "", tuple(self._took))

    def close(self) -> None:
        """Let the helper end."""
        if self._helper is not None:
            self._helper.leave()
            self._left.append(self._helper)
            self._helper = None


def look(probers: Sequence[Prober], seconds: float) -> dict[str, Outcome]:
    """Look at all places at once, within ``seconds``; by name."""
    found: dict[str, Outcome] = {}
    with selectors.DefaultSelector() as selector:
        for prober in probers:
            begun = prober.begin()
            if isinstance(begun, Outcome):
                found[prober.name] = begun
            else:
                selector.register(begun.answers, selectors.EVENT_READ, (prober, begun))
        end = time.monotonic() + seconds
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready and time.monotonic() >= end:
                break
            for key, _ in ready:
                selector.unregister(key.fileobj)
                prober, helper = key.data
                found[prober.name] = prober.end(helper)
        for key in selector.get_map().values():
            prober, _ = key.data
            found[prober.name] = prober.hung()
    return {prober.name: found[prober.name] for prober in probers}


def _state(number: int, bare: bool) -> tuple[str, str]:
    if number:
        return DEAD if number in DEAD_ERRNOS else ERROR, errno.errorcode.get(number, f"errno {number}")
    return (ABSENT if bare else ALIVE), ""
