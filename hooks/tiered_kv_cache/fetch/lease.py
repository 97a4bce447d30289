"""Who downloads. File locks are not asked: on many shared filesystems they are granted to everybody, or never freed.

A claim is a directory ``claim-<generation>``, made exclusively, with a file ``beat`` that its writer rewrites all the
time. Whoever sees the newest beat unchanged for the lease's length, by its own clock, takes over by making the next
generation; clocks of other machines do not matter. A writer that was only slow learns of it from its next beat, and
cannot finish by accident: its private directory has been renamed away (work.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import Fenced
from .spec import Job

_CLAIM = re.compile(r"claim-(\d+)")
BEATS_PER_LEASE = 6


class Claims:
    """The claims on one download, as one Pod sees them."""

    def __init__(self, control: Path, job: Job, clock: Callable[[], float] = time.monotonic) -> None:
        self._control, self._job, self._clock = control, job, clock
        self._seen: tuple[int, bytes] | None = None
        self._since = 0.0

    def take(self) -> Claim | dict[str, Any]:
        """Become the writer, or learn what the present one last said (an empty object if nothing)."""
        self._control.mkdir(parents=True, exist_ok=True)
        newest = generation(self._control)
        ended = True
        if newest is not None:
            beat = _read(self._control / f"claim-{newest}" / "beat")
            if (newest, beat) != self._seen:
                self._seen, self._since = (newest, beat), self._clock()
            said = _parse(beat)
            silent = self._clock() - self._since
            # A container of this very Pod that ran before: it is dead, or this one would not run.
            ended = said.get("owner") == self._job.owner or bool(said.get("released"))
            if not ended and silent < self._job.lease_seconds:
                return {**said, "silent": silent}
        number = 0 if newest is None else newest + 1
        try:
            (self._control / f"claim-{number}").mkdir()
        except (FileExistsError, FileNotFoundError):
            return {}
        return Claim(self._control, number, self._job, ended)


class Claim:
    """The right to download, until the beats stop. Used as a context: beats go on in a thread of their own.

    ``tell``: what each beat says beside the owner. ``alone``: no earlier writer can be alive; else one may only be slow.
    """

    def __init__(self, control: Path, number: int, job: Job, alone: bool = True) -> None:
        self.control, self.number, self.alone, self._job = control, number, alone, job
        self.token = secrets.token_hex(8)
        self.lost = threading.Event()
        self.tell: Callable[[], dict[str, Any]] = dict
        self._beat = control / f"claim-{number}" / "beat"
        self._count = 0
        self._released = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._lock = threading.Lock()

    @property
    def taken_over(self) -> bool:
        """True if somebody else had claimed before."""
        return self.number > 0

    def __enter__(self) -> Claim:
        try:
            self._write("xb", {})
        except FileExistsError:
            # A filesystem on which making a directory is not exclusive gave this claim to two.
            raise Fenced from None
        except FileNotFoundError:
            raise Fenced from None
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5)

    def check(self) -> None:
        """Beat now; raises Fenced if the claim is no longer this Pod's."""
        with self._lock:
            if self.lost.is_set() or self._released or (generation(self.control) or 0) > self.number:
                self.lost.set()
                raise Fenced
            try:
                if _parse(_read(self._beat)).get("token") != self.token:
                    raise FileNotFoundError
                self._write("r+b", self.tell())
            except FileNotFoundError:
                self.lost.set()
                raise Fenced from None

    def release(self) -> None:
        """Let the next one begin at once."""
        self._stop.set()
        with contextlib.suppress(OSError), self._lock:
            # A beat that waits for the lock right now would take it back.
            self._released = True
            if _parse(_read(self._beat)).get("token") == self.token:
                self._write("r+b", {"released": True})

    def drop_older(self) -> None:
        """Remove the claims that this one has superseded, so that their writers notice."""
        for name in _names(self.control):
            found = _CLAIM.fullmatch(name)
            if found and int(found[1]) < self.number:
                shutil.rmtree(self.control / name, ignore_errors=True)

    def volume_time(self) -> float:
        """Now by the clock of the volume, in seconds since 1970: the time of the last beat."""
        return self._beat.stat().st_mtime

    def _write(self, mode: str, said: dict[str, Any]) -> None:
        self._count += 1
        content = {"owner": self._job.owner, "pod": self._job.pod, "token": self.token, "beat": self._count, **said}
        with self._beat.open(mode) as file:
            file.write(json.dumps(content).encode())
            file.truncate()
            file.flush()
        # Filesystems that keep the old time when the size is the same.
        with contextlib.suppress(OSError):
            os.utime(self._beat)

    def _run(self) -> None:
        good = time.monotonic()
        while not self._stop.wait(self._job.lease_seconds / BEATS_PER_LEASE):
            try:
                self.check()
                good = time.monotonic()
            except Fenced:
                return
            except OSError:
                # A volume with a bad moment. Others count from the last beat, and so does this one.
                if time.monotonic() - good > self._job.lease_seconds:
                    self.lost.set()
                    return


def generation(control: Path) -> int | None:
    """The newest claim's number; None without any."""
    numbers = [int(found[1]) for name in _names(control) if (found := _CLAIM.fullmatch(name))]
    return max(numbers, default=None)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names, not paths
    except FileNotFoundError:
        return []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _parse(beat: bytes) -> dict[str, Any]:
    try:
        said = json.loads(beat)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
