"""Measure the tiers of one model: the same prompt again and again, from places that only one tier can serve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..deadline import DeadlinePassed
from ..engine import EngineError
from ..http import BadAnswer, Unreachable
from ..metrics import VLLM_CACHE_CONFIG, Counters, MetricsError, full_chunks
from ..pods import Pod
from . import prompt
from .config import MAX_TOKENS, ModelSpec
from .context import Context
from .result import ModelResult, Row
from .target import Target

STORE_SECONDS = 60.0
"""How long the first Pod may take to write all full chunks to L2 after its answer."""
SETTLE_SECONDS = 5.0
"""How long counters may lag behind an answer."""
POLL_SECONDS = 0.25
RESET_TRIES = 3
RESTARTED = "a counter fell, so vLLM or LMCache restarted during the test"
RESET_SECONDS = 1.0
NO_RESET = 'not measured: vLLM has no POST /reset_prefix_cache; set engine.env VLLM_SERVER_DEV_MODE "1" to measure L1'
RESET_OFF = "not measured: hooks.verify.resetL0 is never"


class Restarted(Exception):
    """A counter fell: a process of the Pod restarted in the middle of a measurement."""


class StepFailed(Exception):
    """Something went wrong while ``pod`` did ``doing``; the cause is an error of its servers or the deadline."""

    def __init__(self, pod: Pod, doing: str, cause: Exception) -> None:
        super().__init__(f"{doing} on Pod {pod.name} failed: {cause}")
        self.pod = pod
        self.cause = cause


@contextmanager
def _step_of(target: Target, doing: str) -> Iterator[None]:
    """Adds the Pod and the step to whatever fails within."""
    try:
        yield
    except (Restarted, DeadlinePassed, Unreachable, BadAnswer, EngineError, MetricsError) as err:
        raise StepFailed(target.pod, doing, err) from err


class Measurement:
    """The measured requests of one model, row by row, into ``result``."""

    def __init__(self, ctx: Context, model: ModelSpec, targets: list[Target], result: ModelResult) -> None:
        self.settings, self.deadline, self._say = ctx.settings, ctx.deadline, ctx.say
        self.model, self.result = model, result
        self.first = targets[0]
        # A Pod on another node proves more: its mount is another one.
        self.others = sorted(targets[1:], key=lambda t: t.pod.node == self.first.pod.node)
        self.ids: list[int] = []
        self.stored_chunks: float | None = None  # None until it was looked at
        self.block_size: int | None = None

    @property
    def want_chunks(self) -> int:
        """Chunks that the prompt fills, hence those that LMCache stores and finds."""
        return full_chunks(self.settings.prompt_tokens, self.model.chunk_size)

    @property
    def want_tokens(self) -> int:
        """Tokens in these chunks."""
        return self.want_chunks * self.model.chunk_size

    def run(self) -> None:
        """Measure all that the model's tiers and replicas allow."""
        with _step_of(self.first, "building the prompt"):
            self.ids = prompt.build(self.first.engine, self.settings.prompt_tokens)
            self.block_size = block_size(self.first)
        for target in (self.first, *self.others):
            self._say(f"{self.model.name}: warming up Pod {target.pod.name}")
            with _step_of(target, "warming up"):
                target.engine.complete(target.engine.tokenize(prompt.text(1)).ids[:32], MAX_TOKENS)
        with _step_of(self.first, "reading counters"):
            start = self.first.counters()
        self._step("cold", self.first, lambda moved: True)
        if not self.model.l2:
            for target in self.others:
                self._step("cold", target, lambda moved: True)
            return
        with _step_of(self.first, "storing in L2"):
            self._wait_stored(start)
        for target in self.others:
            self._step("l2", target, lambda moved: moved.l2 >= self.want_tokens)
        self._local_tiers(self.others[0] if self.others else self.first)

    def _local_tiers(self, target: Target) -> None:
        if self.model.l0:
            self._step("l0", target, lambda moved: moved.l0 > 0)
        if not self.model.l1:
            return
        if not self.model.l0:
            self._step("l1", target, lambda moved: moved.l1 >= self.want_tokens)
            return
        for _ in range(RESET_TRIES):
            with _step_of(target, "emptying L0"):
                reset = self.settings.reset_l0 != "never" and target.engine.reset_prefix_cache()
            if not reset:
                note = RESET_OFF if self.settings.reset_l0 == "never" else NO_RESET
                self.result.rows.append(Row("l1", target.pod.name, target.pod.node, note=note))
                return
            row = self._step("l1", target, lambda moved: moved.l1 >= self.want_tokens or moved.l0 > 0)
            # vLLM keeps L0 as long as a block is in use, and says 200 all the same; its counter tells.
            if row.counters is None or row.counters.l0 == 0 or row.busy:
                return
            self.result.rows.remove(row)
            self.deadline.sleep(RESET_SECONDS)
        note = f"not measured: POST /reset_prefix_cache did not empty L0 in {RESET_TRIES} tries (blocks in use)"
        self.result.rows.append(Row("l1", target.pod.name, target.pod.node, note=note))

    def _step(self, tier: str, target: Target, enough: Callable[[Counters], bool]) -> Row:
        """One request with the counters around it."""
        self._say(f"{self.model.name}: {tier} on Pod {target.pod.name} ({len(self.ids)} prompt tokens)")
        with _step_of(target, f"the request for tier {tier}"):
            before = target.counters()
            answer = target.engine.complete(self.ids, MAX_TOKENS)
            moved = self._settled(target, before, enough)
        row = Row(
            tier,
            target.pod.name,
            target.pod.node,
            ttft_ms=answer.ttft_ms,
            text=answer.text,
            counters=moved,
            busy=moved.prompt > len(self.ids),
            note="other requests ran on the Pod meanwhile; its counters include them"
            if moved.prompt > len(self.ids)
            else "",
        )
        self.result.rows.append(row)
        return row

    def _settled(self, target: Target, before: Counters, enough: Callable[[Counters], bool]) -> Counters:
        """What moved since ``before``, once it shows the request and ``enough``, or after SETTLE_SECONDS."""
        settle = self.deadline.within(SETTLE_SECONDS)
        while True:
            moved = target.counters().since(before)
            if moved.went_back():
                raise Restarted(RESTARTED)
            if (moved.prompt >= len(self.ids) and enough(moved)) or settle.passed():
                return moved
            settle.sleep(POLL_SECONDS)

    def _wait_stored(self, start: Counters) -> None:
        """Wait until the first Pod has written all full chunks to L2; it does so after its answer."""
        self._say(
            f"{self.model.name}: waiting until Pod {self.first.pod.name} has stored {self.want_chunks} chunks in L2"
        )
        wait = self.deadline.within(STORE_SECONDS)
        while True:
            moved = self.first.counters().since(start)
            if moved.went_back():
                raise Restarted(RESTARTED)
            self.stored_chunks = moved.stored_chunks
            if self.stored_chunks >= self.want_chunks or wait.passed():
                return
            wait.sleep(POLL_SECONDS)


def block_size(target: Target) -> int | None:
    """vLLM's block size in tokens, from its metrics; None when it does not say."""
    text = target.engine.metrics().label(VLLM_CACHE_CONFIG, "block_size")
    return int(text) if text and text.isdigit() and int(text) > 0 else None
