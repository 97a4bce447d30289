"""One volume's keeper: a tick reads logs, walks a part of the tree, removes what is too much, and writes down what it knows."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..l2 import paths
from . import expire, layout, plan, state
from .clock import Clock
from .config import Settings
from .context import Context
from .events import Events
from .evict import Evictor
from .ghosts import Ghosts
from .health import Health, Steady, source
from .logs import Logs
from .pace import Pace
from .policy import Need, Policy
from .sweep import Sweep
from .tree import NO_SPACE, Tree
from .usage import Accounting
from .watch import Watch

BATCH = 1000
"""Objects that are chosen at once."""
EVICT_SECONDS = 60.0
"""Of one tick; then logs and the sweep have their turn."""
PROBE_BYTES = 8192
MOST_BATCHES = 10_000


class Keeper:
    """All of it, for one thread. Every method may raise OSError (the volume) and LeaseLost."""

    def __init__(
        self, settings: Settings, allowed: Callable[[], None] = lambda: None, *, dry: bool = False,
        events: Events | None = None, health: Callable[[], Health] | None = None, clock: Clock | None = None,
        watch: Watch | None = None, sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.watch = watch or Watch()
        tree = Tree(settings.mount, Pace(settings.operations, allowed, sleep=sleep), self.watch, dry, allowed)
        self.x = Context(settings, tree, clock or Clock(monotonic), events=events or Events())
        self.pool = Steady(health or source(settings.pool), monotonic)
        self.logs = Logs(self.x)
        self.ghosts = Ghosts(self.x, self.pool)
        self.sweep = Sweep(self.x, self.ghosts)
        self.policy = Policy(self.x)
        self.evictor = Evictor(self.x, self.logs, monotonic, sleep)
        self.state = state.State(settings, self.watch)
        self._monotonic = monotonic
        self._steps: Iterator[None] | None = None
        self._begun = self._recorded = -1e9
        self._by_age = 0

    def round(self) -> None:
        """Everything once: clock, logs, a whole sweep, removals, record."""
        self._begin()
        for _ in self.sweep.steps():
            pass
        self._read_logs()
        self._by_age = expire.allowance(self.x)
        self._remove(float("inf"))
        with self._root() as root:
            if root is not None:
                self.ghosts.tick(root)
        self.settle()
        self.publish()

    def tick(self, seconds: float) -> None:
        """What ``seconds`` (about) allow: everything but the sweep is done, which goes on at the next tick."""
        end = self._monotonic() + seconds
        self._begin()
        self._read_logs()
        self._sweep(end)
        if self.x.table.complete:
            self._remove(EVICT_SECONDS)
        with self._root() as root:
            if root is not None:
                self.ghosts.tick(root, rotate=self.x.table.complete)
        if self._monotonic() - self._recorded >= self.x.settings.record:
            self.settle()
        self.publish()

    def settle(self) -> None:
        """Write the records, and remove the logs that they contain."""
        with self._root() as root:
            for path, found in list(self.x.table.fingerprints.items()) if root is not None else []:
                assert root is not None
                try:
                    with self.x.tree.directory(root, *path) as fd:
                        if fd is not None:
                            self.logs.settle(found, fd)
                except OSError as err:
                    # A tenant whose directory is full or closed must not keep the others' from being written.
                    self.x.failed(err, found.lob)
        self._recorded = self._monotonic()

    def publish(self) -> None:
        """Let metrics and status see the present."""
        self.state.snapshot = state.take(self.x, self.sweep, self.ghosts, self.policy, self.pool.last.why)

    def abandon_sweep(self) -> None:
        """Close what a broken sweep holds open; the next one begins anew."""
        if self._steps is not None:
            with contextlib.suppress(OSError):
                self._steps.close()  # type: ignore[attr-defined]
        self._steps = None

    @contextlib.contextmanager
    def _root(self) -> Iterator[int | None]:
        with self.x.tree.top() as top, self.x.tree.directory(top, layout.VERSION) as root:
            yield root

    def _begin(self) -> None:
        """Read the filesystem's clock, and learn whether it counts blocks."""
        x = self.x
        with self._root() as root:
            if x.tree.dry or root is None:
                x.clock.read(time.time())
                return
            try:
                about = self._probe(root)
            except OSError as err:
                if err.errno not in NO_SPACE:
                    raise
                # Full: it goes on by its own clock, and removes what it can.
                x.failed(err, "")
                about = None
        if about is None:
            x.clock.guess(time.time())
        else:
            x.clock.read(about.st_mtime)
            x.accounting = Accounting(by_blocks=about.st_blocks > 0)

    def _probe(self, root: int) -> os.stat_result | None:
        """Attributes of a file that was written, or at least touched, right now."""
        tree = self.x.tree
        with tree.directory(root, paths.KEEPER, make=True) as own:
            if own is None:
                raise NotADirectoryError(errno.ENOTDIR, f"{layout.VERSION}/{paths.KEEPER} is no directory")
            try:
                tree.write(own, layout.PROBE, [b"\0" * PROBE_BYTES])
            except OSError as err:
                if err.errno not in NO_SPACE:
                    raise
                self.x.failed(err, "")
                return tree.touch(own, layout.PROBE)
            return tree.look(own, layout.PROBE)

    def _read_logs(self) -> None:
        with self._root() as root:
            for path, found in self.x.table.fingerprints.items() if root is not None else ():
                assert root is not None
                try:
                    with self.x.tree.directory(root, *path) as fd:
                        if fd is not None and found.loaded:
                            self.logs.ingest(found, fd)
                except OSError as err:
                    self.x.failed(err, found.lob)

    def _sweep(self, end: float) -> None:
        if self._steps is None and self._monotonic() - self._begun >= self.x.settings.sweep:
            self._steps, self._begun = self.sweep.steps(), self._monotonic()
        while self._steps is not None and self._monotonic() < end:
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
                self._by_age = expire.allowance(self.x)

    def _remove(self, seconds: float) -> None:
        """Remove for age, then for quotas, then for free space, for about so many seconds."""
        end = self._monotonic() + seconds
        with self._root() as root:
            if root is None:
                return
            self._expire(root, end)
            for _ in range(MOST_BATCHES):
                need = self.policy.need() or self._space(root)
                if need is None or self._monotonic() >= end or not self._evict(root, need):
                    return

    def _expire(self, root: int, end: float) -> None:
        while self._monotonic() < end:
            due = expire.due(self.x, BATCH)
            if due is None:
                return
            if self._by_age <= 0:
                self.x.events.say(
                    "ManyExpired", due[1],
                    f"more objects are due ({due[1]}) than one round removes ({self.x.settings.most_fraction:g} of all); the "
                    "rest waits for the next. Fix: nothing, if it was meant; else look at ttl and at the volume's clock",
                )  # fmt: skip
                return
            gone = self.evictor.run(root, due[0][: self._by_age], due[1])
            self._by_age -= gone
            if not gone:
                return

    def _evict(self, root: int, need: Need) -> bool:
        x = self.x
        latest = x.clock.now() - int(x.settings.grace.object)
        victims = plan.oldest(
            need.scope, x.accounting.charge, latest, BATCH, need_bytes=need.bytes, need_objects=need.files
        )
        before = sum(x.counts.spared.values()) - x.counts.spared[("error",)]
        gone = self.evictor.run(root, victims, need.why)
        self.publish()
        if not victims:
            x.events.say(
                "CannotEvict", need.whose,
                f"{need.whose} has too much, and nothing of it can go: what it holds is unknown, or younger than "
                f"{x.settings.grace.object:g} s. Fix: see keeper status",
            )  # fmt: skip
        # Those that were spared will not be chosen again; those that could not be removed would be, for ever.
        return gone > 0 or sum(x.counts.spared.values()) - x.counts.spared[("error",)] > before

    def _space(self, root: int) -> Need | None:
        """Free space of the filesystem itself, where the settings say that it means something."""
        guard = self.x.settings.guard
        if not (guard.bytes or guard.files):
            return None
        # Space of deleted files comes back late: measured at once, twice as much would go.
        if self._monotonic() - self.evictor.last_delete < self.x.settings.pool.lag:
            return None
        with self.watch.doing("statfs"):
            about = os.fstatvfs(root)
        missing = guard.bytes - about.f_bavail * about.f_frsize if about.f_blocks else 0
        inodes = guard.files - about.f_favail if about.f_files else 0
        if missing <= 0 and inodes <= 0:
            return None
        self.x.events.say(
            "VolumeFull", "bytes" if missing > 0 else "files",
            f"the filesystem has {'too little space' if missing > 0 else 'too few inodes'} left; objects go until there is "
            "enough. Fix: find what else fills it, or lower the quotas",
        )  # fmt: skip
        need = self.policy.spread("volume", max(0.0, missing), max(0.0, inodes), "space")
        return None if need is None else replace(need, why="space")
