"""How far a run is: by its time, since the budget and not the number of requests ends it."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..deadline import Deadline

EVERY_SECONDS = 20.0
"""Between two lines of a log."""


class Bar:
    """A bar on a terminal, a line now and then in a log; both on standard error."""

    def __init__(self, deadline: Deadline, quiet: bool | None = None) -> None:
        """``quiet``: lines and no bar; None: as standard error is."""
        self._deadline = deadline
        self._bar = not (not sys.stderr.isatty() if quiet is None else quiet)
        self._progress = Progress(
            BarColumn(30), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
            TextColumn("of at most " + _clock(deadline.seconds)), TextColumn("{task.description}"),
            console=Console(file=sys.stderr), disable=not self._bar,
        )  # fmt: skip
        self._task = self._progress.add_task("starting", total=deadline.seconds)
        self._requests, self._said = 0, -EVERY_SECONDS

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def tick(self, what: str) -> None:
        """One more request is done."""
        self._requests += 1
        now = self._deadline.elapsed()
        self._progress.update(self._task, completed=now, description=f"{self._requests} requests; {what}")
        if not self._bar and now - self._said >= EVERY_SECONDS:
            self._said = now
            print(f"[{now:6.1f} of at most {self._deadline.seconds:g} s] {self._requests} requests; {what}",
                  file=sys.stderr, flush=True)  # fmt: skip


def _clock(seconds: float) -> str:
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
