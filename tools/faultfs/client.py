"""Switching faults from a test: `with faults.eio("read", "objects/**"): ...`."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


class Refused(ValueError):
    """The filesystem does not take a request; the text says what to change."""


class Fault:
    """A fault that is switched on. As a context manager it is switched off at the end."""

    def __init__(self, faults: Faults, number: int) -> None:
        self._faults, self.number = faults, number

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self, outcome: str = "") -> None:
        """Switch it off. What a hang holds proceeds, or ends as `outcome` (an errno's name) or the rule's `then` says."""
        self._faults.ask("remove", number=self.number, outcome=outcome)

    def release(self, outcome: str = "") -> None:
        """Let go what a hang holds now, and hold what comes after."""
        self._faults.ask("release", number=self.number, outcome=outcome)

    @property
    def hits(self) -> int:
        """Operations that it has met."""
        for rule in self._faults.ask("rules")["rules"]:
            if rule["number"] == self.number:
                return int(rule["hits"])
        raise LookupError(f"fault {self.number} is switched off")


class Faults:
    """The control socket of a running fault filesystem.

    Each method that names a fault switches it on for some operations (names with blanks between; `*` = all that the
    kind can meet) on the paths that fit a pattern, and takes `probability` (0 to 1), `count` (so many, then none) and
    `skip` (so many go through first). The rules of one operation are applied in the order in which they were added.
    """

    def __init__(self, control: Path) -> None:
        self._path = control
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(10)
        self._socket.connect(str(control))
        self._lines = self._socket.makefile("rb")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def ask(self, do: str, **fields: object) -> Json:
        """One request.

        Raises:
            Refused: the request is wrong.
            ConnectionError: the filesystem has ended.
        """
        with self._lock:
            self._socket.sendall(json.dumps({"do": do, **fields}).encode() + b"\n")
            line = self._lines.readline()
        if not line:
            raise ConnectionError(f"{self._path}: the fault filesystem has ended")
        given: Json = json.loads(line)
        if "error" in given:
            raise Refused(given["error"])
        return given

    def add(self, kind: str, ops: str = "*", glob: str = "**", *, params: Json | None = None, **when: Any) -> Fault:
        """Switch on a fault of any kind (`faultfs.kinds`)."""
        names = [] if ops == "*" else ops.split()
        rule = {"kind": kind, "ops": names, "glob": glob, "params": params or {}, **when}
        return Fault(self, int(self.ask("add", rule=rule)["number"]))

    # Errors

    def error(self, errno: str, ops: str = "*", glob: str = "**", **when: Any) -> Fault:
        """Operations fail with this errno, such as ENOSYS or EDQUOT."""
        return self.add("error", ops, glob, params={"errno": errno}, **when)

    def eio(self, ops: str = "read write", glob: str = "**", **when: Any) -> Fault:
        return self.error("EIO", ops, glob, **when)

    def enospc(self, ops: str = "write create mkdir", glob: str = "**", **when: Any) -> Fault:
        return self.error("ENOSPC", ops, glob, **when)

    def read_only(self, glob: str = "**", **when: Any) -> Fault:
        """EROFS for all that changes something."""
        changes = (
            "open_write create write fsync truncate fallocate mkdir unlink rmdir rename link symlink chmod chown utime"
        )
        return self.error("EROFS", changes, glob, **when)

    def eacces(self, ops: str = "open create", glob: str = "**", **when: Any) -> Fault:
        return self.error("EACCES", ops, glob, **when)

    def enotconn(self, ops: str = "*", glob: str = "**", **when: Any) -> Fault:
        """As of a FUSE mount whose process has died."""
        return self.error("ENOTCONN", ops, glob, **when)

    def estale(self, ops: str = "*", glob: str = "**", **when: Any) -> Fault:
        return self.error("ESTALE", ops, glob, **when)

    def stale_handles(self, glob: str = "**", **when: Any) -> Fault:
        """A file that is replaced or removed leaves its readers with ESTALE."""
        return self.add("stale_handles", "*", glob, **when)

    # Time

    def hang(self, ops: str = "*", glob: str = "**", then: str = "proceed", **when: Any) -> Fault:
        """Operations wait until the fault is removed or released; then they proceed, or fail with the errno `then`."""
        return self.add("hang", ops, glob, params={"then": then}, **when)

    def delay(
        self, ops: str, glob: str = "**", ms: float = 0, ms_per_mb: float = 0, total_mb_s: float = 0, **when: Any
    ) -> Fault:
        """Operations take longer: fixed, by size, and by what all of them together may move (MB = 10^6 bytes)."""
        return self.add("delay", ops, glob, params={"ms": ms, "ms_per_mb": ms_per_mb, "total_mb_s": total_mb_s}, **when)

    # Data

    def lost_tail(self, glob: str = "**", keep: float = 0.5, **when: Any) -> Fault:
        """Each write says that it stored all and stores this fraction."""
        return self.add("lost_tail", "*", glob, params={"keep": keep}, **when)

    def cut(self, glob: str = "**", keep: float = 0.5, **when: Any) -> Fault:
        """A file is cut to this fraction at its last close."""
        return self.add("cut", "*", glob, params={"keep": keep}, **when)

    def short_read(self, glob: str = "**", keep: float = 0.5, **when: Any) -> Fault:
        return self.add("short_read", "*", glob, params={"keep": keep}, **when)

    def flip(self, glob: str = "**", bits: int = 1, **when: Any) -> Fault:
        """So many bits of each read are wrong."""
        return self.add("flip", "*", glob, params={"bits": bits}, **when)

    def zeros(self, glob: str = "**", keep: float = 0.5, **when: Any) -> Fault:
        """The part of each read after this fraction is zeros."""
        return self.add("zeros", "*", glob, params={"keep": keep}, **when)

    def ignore(self, ops: str, glob: str = "**", **when: Any) -> Fault:
        """Operations say that they were done and do nothing: `utime`, `fsync`, `unlink` ..."""
        return self.add("ignore", ops, glob, **when)

    def noatime(self, glob: str = "**", **when: Any) -> Fault:
        """Reads leave the access time alone; with `ignore("utime")` nothing changes it."""
        return self.add("noatime", "*", glob, **when)

    # Views

    def stale(self, seconds: float = 1.0, ops: str = "*", glob: str = "**", **when: Any) -> Fault:
        """Processes other than the one that changes something see it so much later, as with Curvine's entry_timeout."""
        return self.add("stale", ops, glob, params={"seconds": seconds}, **when)

    def vanish(self, glob: str = "**", seconds: float = 0.0, **when: Any) -> Fault:
        """The target of a rename is gone so much later."""
        return self.add("vanish", "*", glob, params={"seconds": seconds}, **when)

    def old_size(self, glob: str = "**", **when: Any) -> Fault:
        """A file that replaced one of another size is seen with the old size, while the fault is on."""
        return self.add("old_size", "*", glob, **when)

    def late_space(self, seconds: float = 3.5, glob: str = "**", **when: Any) -> Fault:
        """Space of removed files counts as used so much longer."""
        return self.add("late_space", "*", glob, params={"seconds": seconds}, **when)

    def statfs(self, **values: int) -> Fault:
        """Fixed answers of statfs: total_bytes, free_bytes, total_files, free_files."""
        return self.add("statfs", params=dict(values))

    # Observations

    def clear(self, outcome: str = "") -> None:
        """Switch all off."""
        self.ask("clear", outcome=outcome)

    def counters(self) -> dict[str, dict[str, int]]:
        """`calls` and `bytes` by operation, `errors` by operation and errno (`read EIO`), since the start."""
        return self.ask("counters")

    def under_way(self, op: str = "") -> list[Json]:
        """Operations that have begun and not ended, oldest first: op, path, pid, seconds."""
        return [one for one in self.ask("under_way")["under_way"] if not op or one["op"] == op]

    def wait_under_way(self, op: str, number: int = 1, seconds: float = 10) -> list[Json]:
        """Wait until so many operations of a kind are under way: a test's way to know that a hang holds them.

        Raises:
            TimeoutError: they are fewer.
        """
        return _until(
            lambda: self.under_way(op), lambda found: len(found) >= number, seconds, f"{number} x {op} under way"
        )


def _until(
    look: Callable[[], list[Json]], enough: Callable[[list[Json]], bool], seconds: float, what: str
) -> list[Json]:
    end = time.monotonic() + seconds
    while not enough(found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} within {seconds:g} s; there is {found}")
        time.sleep(0.01)
    return found
