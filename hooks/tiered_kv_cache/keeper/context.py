"""What the parts of the keeper share, and the two ways in which anything but an object is removed."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field

from .clock import Clock
from .config import Settings
from .counts import Counts
from .events import Events
from .table import AHEAD_SECONDS, Table
from .tree import Tree
from .usage import Accounting

FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass
class Context:
    """One volume."""

    settings: Settings
    tree: Tree
    clock: Clock
    table: Table = field(default_factory=Table)
    counts: Counts = field(default_factory=Counts)
    events: Events = field(default_factory=Events)
    accounting: Accounting = field(default_factory=Accounting)

    def age(self, about: os.stat_result) -> float:
        """Seconds since a file or directory was last changed; -1 if its times are all later than now.

        The inode's own time too, since anybody may set the other one, and a node's clock may be behind. One that is ahead
        is not believed.
        """
        now = self.clock.exact()
        times = [t for t in (about.st_mtime, about.st_ctime) if t <= now + AHEAD_SECONDS]
        return now - max(times) if times else -1.0

    def old(self, about: os.stat_result, seconds: float) -> bool:
        """Whether something is that old, and times can be trusted."""
        return self.clock.steady and self.age(about) >= seconds

    def remove(self, parent: int, name: str, lob: str, kind: str) -> bool:
        """Remove a file that is no object; True if it is gone, or would be in a dry run."""
        try:
            if not self.tree.dry:
                self.tree.unlink(parent, name)
        except OSError as err:
            self.failed(err, lob)
            return False
        self.counts.cleaned[lob, kind] += 1
        return True

    def remove_directory(self, parent: int, name: str, lob: str) -> bool:
        """Remove a directory if it is empty; True if it is gone."""
        try:
            gone = not self.tree.dry and self.tree.rmdir(parent, name)
        except OSError as err:
            self.failed(err, lob)
            return False
        self.counts.cleaned[lob, "directory"] += gone
        return gone

    def failed(self, err: OSError, lob: str) -> None:
        """Count a failed operation; a person hears of what needs one."""
        name = errno.errorcode.get(err.errno or 0, "unknown")
        self.counts.errors[(name,)] += 1
        if err.errno in FORBIDDEN:
            self.events.say(
                "KeeperMayNotDelete", f"{lob} {name}",
                f"line of business {lob}: {err.strerror}. Fix: mount the volume read-write, and run the keeper with the "
                "group that owns its directories (fsGroup), or with their user",
            )  # fmt: skip

    def clamp(self, seconds: float) -> int:
        """A time that is not later than now."""
        now = self.clock.now()
        return now if seconds > now + AHEAD_SECONDS else min(int(seconds), now)
