"""Any order of stores, uses, removals, rounds, restarts and time, against a model of a few lines."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from .volume import BLOCK, Volume, clock

QUOTA = {"retail": 6, "cards": 9}
CHAINS, LENGTH = 3, 4


class Model(RuleBasedStateMachine):
    """Objects are (tenant, chain, position). ``uses`` holds the last use of each; a use of one counts for all before it.

    Seconds are made by hand: each step lets ten pass, so that no two uses are equal.
    """

    @initialize()
    def begin(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.volume = Volume(Path(self._folder.name) / "mount")
        self.roots = {lob: self.volume.root(lob) for lob in QUOTA}
        self.ahead = 0.0
        self.now = int(time.time())
        self.uses: dict[tuple[str, int, int], int] = {}
        self._start()

    def _start(self) -> None:
        quotas = {lob: {"quota": blocks * BLOCK} for lob, blocks in QUOTA.items()}
        self.keeper = self.volume.keeper(linesOfBusiness=quotas, highWatermark=0.8, lowWatermark=0.5)
        clock(self.keeper).advance(self.ahead)

    def _pass(self) -> None:
        self.now += 10
        self.ahead += 10
        clock(self.keeper).advance(10)

    def _use(self, lob: str, chain: int, end: int) -> None:
        for at in range(end + 1):
            if (lob, chain, at) in self.uses:
                self.uses[lob, chain, at] = self.now

    @rule(lob=st.sampled_from(sorted(QUOTA)), chain=st.integers(0, CHAINS - 1), end=st.integers(0, LENGTH - 1))
    def store(self, lob: str, chain: int, end: int) -> None:
        """An engine stores what is missing of a chain, and says so."""
        self._pass()
        labels = [f"{chain}.{at}" for at in range(end + 1)]
        for at, label in enumerate(labels):
            if (lob, chain, at) not in self.uses:
                self.roots[lob].put(label, mtime=self.now)
                self.uses[lob, chain, at] = self.now
        self.roots[lob].log(self.now, "put", *labels)
        self._use(lob, chain, end)
        self._read()

    @rule(
        lob=st.sampled_from(sorted(QUOTA)), chain=st.integers(0, CHAINS - 1), end=st.integers(0, LENGTH - 1),
        first=st.integers(0, LENGTH - 1),
    )  # fmt: skip
    def use(self, lob: str, chain: int, end: int, first: int) -> None:
        """An engine reads a chain as far as it is there; what is before ``first`` it had in memory."""
        there = 0
        while there <= end and (lob, chain, there) in self.uses:
            there += 1
        if there:
            self._pass()
            self.roots[lob].log(self.now, "use", *[f"{chain}.{at}" for at in range(min(first, there - 1), there)])
            self._use(lob, chain, there - 1)
            self._read()

    @precondition(lambda self: self.uses)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """The end of a chain disappears by another hand."""
        lob, chain, _ = data.draw(st.sampled_from(sorted(self.uses)))
        end = max(at for other, c, at in self.uses if (other, c) == (lob, chain))
        self.roots[lob].file(f"{chain}.{end}").unlink()
        del self.uses[lob, chain, end]

    @rule()
    def restart(self) -> None:
        """The keeper is killed; whatever it knew is gone."""
        self._start()

    @rule()
    def round(self) -> None:
        """A round: each tenant above its high mark goes down to its low one, the least used first, ends first."""
        self._pass()
        self.keeper.round()
        for lob, blocks in QUOTA.items():
            mine = sorted((use, -at, chain) for (other, chain, at), use in self.uses.items() if other == lob)
            if len(mine) > 0.8 * blocks:
                gone = mine[: len(mine) - int(0.5 * blocks)]
                for _, at, chain in gone:
                    del self.uses[lob, chain, -at]

    def _read(self) -> None:
        """Logs reach the keeper before the next step, or after a restart from the tree."""
        if self.keeper.x.table.complete:
            self.keeper._begin()
            self.keeper._read_logs()

    @invariant()
    def files_are_those_of_the_model(self) -> None:
        if hasattr(self, "uses"):
            there = {
                (lob, chain, at)
                for lob, root in self.roots.items() for chain in range(CHAINS) for at in range(LENGTH)
                if root.file(f"{chain}.{at}").exists()
            }  # fmt: skip
            assert there == set(self.uses)

    @invariant()
    def no_chunk_outlives_the_one_before_it(self) -> None:
        if hasattr(self, "uses"):
            assert all(at == 0 or (lob, chain, at - 1) in self.uses for lob, chain, at in self.uses)

    def teardown(self) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
