"""Prompts that lie in a line's L2, what its engine answered, and whether it finds them again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..engines import Answer, Engines, prompt_of

COUNT = 3


@dataclass
class Seen:
    """What one reader saw. ``from_l2``: tokens that came from the volume."""

    asked: int = 0
    from_l2: float = 0
    failed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class Kept:
    """Prompts of one line of business; its only engine computes and stores them now.

    Args:
        label: that no other one has.
    """

    def __init__(self, engines: Engines, label: str) -> None:
        self.engines = engines
        self.prompts = [prompt_of(f"{label} {number}", 2 * engines.chunk + 30) for number in range(COUNT)]
        (pod,) = engines.pods()
        self.answers: list[Answer] = [engines.fill(pod, prompt) for prompt in self.prompts]

    @property
    def tokens(self) -> list[int]:
        """Of each prompt, all that can be cached."""
        return [answer.full_chunks for answer in self.answers]

    def from_l2(self) -> list[float]:
        """Tokens of each prompt that the volume gives an engine whose other tiers are empty and that nobody else asks.

        Raises:
            AssertionError: another text than when it was computed.
        """
        (pod,) = self.engines.pods()
        self.engines.clear_l0(pod)
        self.engines.clear_l1(pod, force=True)
        found = []
        for prompt, first in zip(self.prompts, self.answers, strict=True):
            answer, hits = self.engines.hits(pod, prompt)
            assert answer.text == first.text
            # What was found and could be loaded.
            found.append(min(hits.l2, hits.loaded))
        return found

    @contextmanager
    def read_all_the_time(self) -> Iterator[Seen]:
        """One reader of the prompts inside the block. Other requests may lock what it empties: a hit in any tier counts."""
        seen, stop = Seen(), threading.Event()
        reader = threading.Thread(target=self._read, args=(seen, stop))
        reader.start()
        try:
            yield seen
        finally:
            stop.set()
            reader.join()

    def _read(self, seen: Seen, stop: threading.Event) -> None:
        (pod,) = self.engines.pods()
        while not stop.is_set():
            for prompt, first in zip(self.prompts, self.answers, strict=True):
                try:
                    self.engines.clear_l0(pod)
                    self.engines.clear_l1(pod)
                    answer, hits = self.engines.hits(pod, prompt)
                except Exception as error:  # whatever it is, the request has failed
                    seen.failed.append(repr(error))
                    continue
                seen.asked += 1
                seen.from_l2 += hits.l2
                if sum(hits.served()) < first.full_chunks:
                    seen.lost.append(f"{hits} of {first.full_chunks} tokens")
                if answer.text != first.text:
                    seen.failed.append(f"{answer.text!r} is not {first.text!r}")
                stop.wait(1)
