"""Measure the tiers of one model: the same prompt again and again, from places that only one tier can serve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..deadline import DeadlinePassed
from ..engine import SPIN_SECONDS, EngineError
from ..http import BadAnswer, Unreachable
from ..metrics import INPROCESS_LAG_SECONDS, VLLM_CACHE_CONFIG, Counters, MetricsError, full_chunks
from ..pods import Pod
from . import files, prompt, skips
from .config import MAX_TOKENS, ModelSpec
from .context import Context
from .result import COLD, CONTROL, L0, L1, L2, OFF, ModelResult, Row
from .settle import RESTARTED, Restarted, settled
from .target import Target

STORE_SECONDS = 60.0
"""How long the first Pod may take to write all full chunks to L2 after its answer."""
BLIND_SECONDS = 10.0
"""How long it is given where neither a counter nor the volume tells."""
REST_SECONDS = 2.0
"""How long a counter must rest to be believed, where the number of files of a chunk is not known."""
LAG_SECONDS = INPROCESS_LAG_SECONDS + 2
SETTLE_SECONDS = 5.0
"""How long counters may lag behind an answer."""
POLL_SECONDS = 0.25
RESET_TRIES = 3
RESET_SECONDS = 1.0
ALONE = "not measured: that needs a second Ready Pod, which reads what the first stored"
BUSY = "other requests ran on the Pod meanwhile; its counters include them"


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
    """The measured requests of one model, row by row, into ``result``. ``root``: the L2 root, empty when not known."""

    def __init__(
        self, ctx: Context, model: ModelSpec, targets: list[Target], result: ModelResult, root: str = ""
    ) -> None:
        self.settings, self.deadline, self._say = ctx.settings, ctx.deadline, ctx.say
        self.model, self.result = model, result
        self.first = targets[0]
        # A Pod on another node proves more: its mount is another one.
        self.others = sorted(targets[1:], key=lambda t: t.pod.node == self.first.pod.node)
        self.ids: list[int] = []
        self.stored_chunks: float | None = None  # None until it was looked at, or when nothing tells
        self.block_size: int | None = None
        self.root = root
        self._files_before = files.chunk_files(root) if model.l2 else None
        self._longest = 0.0
        self._last: Target | None = None
        self._last_at = 0.0
        result.pods = [t.pod.name for t in (self.first, *self.others)]

    @property
    def want_chunks(self) -> int:
        """Chunks that the prompt fills, hence those that LMCache stores and finds."""
        return full_chunks(self.settings.prompt_tokens, self.model.chunk_size)

    @property
    def want_tokens(self) -> int:
        """Tokens in these chunks."""
        return self.want_chunks * self.model.chunk_size

    @property
    def new_files(self) -> int | None:
        """Chunk files that appeared in the L2 root since the start, as this Pod sees it; None when it cannot look."""
        if self._files_before is None:
            return None
        now = files.chunk_files(self.root)
        return len(now - self._files_before) if now is not None else None

    def run(self) -> None:
        """Measure all that the model's tiers and Pods allow; what is not measured gets a row that says why."""
        with _step_of(self.first, "building the prompt"):
            self.ids = prompt.build(self.first.engine, self.settings.prompt_tokens)
            self.block_size = block_size(self.first)
        for target in (self.first, *self.others):
            self._say(f"{self.model.name}: warming up Pod {target.pod.name}")
            with _step_of(target, "warming up"):
                target.engine.complete(target.engine.tokenize(prompt.text(1)).ids[:32], MAX_TOKENS)
                self._answered(target)
        with _step_of(self.first, "reading counters"):
            start = self.first.counters()
        self._step(COLD, self.first, lambda moved: True)
        if self.model.l2:
            with _step_of(self.first, "storing in L2"):
                self._wait_stored(start)
        self._other_pods()
        local = self.others[0] if self.others and self.model.l2 else self.first
        self._local_tiers(local)
        self._control(local)

    def _other_pods(self) -> None:
        if not self.model.l2:
            self.result.rows.append(Row(L2, "", "").skip(OFF, f"off: {self._switch('l2')}"))
        elif not self.others:
            self.result.rows.append(Row(L2, "", "").skip(skips.ONE_POD, ALONE))
        for number, target in enumerate(self.others):
            if number and not self._time_for(2):
                self.result.rows.append(_row(L2 if self.model.l2 else COLD, target).skip(skips.NO_TIME))
            elif self.model.l2:
                self._step(L2, target, lambda moved: self._from_lmcache(moved) >= self.want_tokens - 1)
            else:
                self._step(COLD, target, lambda moved: True)

    def _from_lmcache(self, moved: Counters) -> float:
        return moved.loaded if self.model.in_process else moved.l2

    def _local_tiers(self, target: Target) -> None:
        if self.model.l0:
            self._step(L0, target, lambda moved: moved.l0 > 0)
        else:
            self.result.rows.append(Row(L0, "", "").skip(OFF, f"off: {self._switch('l0')}"))
        if not self.model.l1:
            self.result.rows.append(Row(L1, "", "").skip(OFF, f"off: {self._switch('l1')}"))
        elif not self.model.l0:
            self._step(L1, target, self._l1_enough)
        elif not (self.model.in_process and self._past_l0(target)):
            self._after_reset(target)

    def _l1_enough(self, moved: Counters) -> bool:
        return (moved.loaded if self.model.in_process else moved.l1) >= self.want_tokens - 1

    def _past_l0(self, target: Target) -> bool:
        """Measure L1 by a salt, which an LMCache inside vLLM's process leaves out of its keys and L0 does not."""
        row = self._step(L1, target, self._l1_enough, {"cache_salt": prompt.nonce()})
        if row.counters and row.counters.loaded > 0:
            return True
        self.result.rows.remove(row)
        return False

    def _after_reset(self, target: Target) -> None:
        for _ in range(RESET_TRIES):
            with _step_of(target, "emptying L0"):
                reset = self.settings.reset_l0 != "never" and target.engine.reset_prefix_cache()
            if not reset:
                why, note = skips.NO_RESET, "not measured: vLLM has no POST /reset_prefix_cache, so that L0 answers"
                if self.settings.reset_l0 == "never":
                    why, note = skips.RESET_OFF, "not measured: hooks.verify.resetL0 is never, so that L0 answers"
                self.result.rows.append(_row(L1, target).skip(why, note))
                return
            row = self._step(L1, target, lambda moved: self._l1_enough(moved) or moved.l0 > 0)
            # vLLM keeps L0 as long as a block is in use, and says 200 all the same; its counter tells.
            if row.counters is None or row.counters.l0 == 0 or row.busy:
                return
            self.result.rows.remove(row)
            self.deadline.sleep(RESET_SECONDS)
        note = f"not measured: POST /reset_prefix_cache did not empty L0 in {RESET_TRIES} tries (blocks in use)"
        self.result.rows.append(_row(L1, target).skip(skips.IN_USE, note))

    def _control(self, target: Target) -> None:
        """The same prompt with no cache once more: what differs between two such answers is no cache's fault.

        A salt of its own hides all blocks of L0 and of an LMCache server from it, a tag those of an LMCache inside vLLM's
        process; and nothing of it is stored.
        """
        if not self._time_for(2):
            self.result.rows.append(_row(CONTROL, target).skip(skips.NO_TIME))
            return
        salt = prompt.nonce()
        extra: dict[str, Any] = {"cache_salt": salt}
        if self.model.l1 or self.model.l2:
            extra["kv_transfer_params"] = {
                "lmcache.tag.verify": salt,
                "lmcache.skip_save": True,
                "lmcache.max_offload_tokens": 0,
            }
        try:
            row = self._step(CONTROL, target, lambda moved: True, extra)
        except StepFailed as err:
            if isinstance(err.cause, BadAnswer) and err.cause.status == 400:
                self.result.rows.append(_row(CONTROL, target).skip("cache_salt refused", str(err)))
                return
            raise
        moved, cached = row.counters or Counters(), row.answer.cached_tokens if row.answer else None
        if cached or (cached is None and moved.l0 + moved.loaded > 0):
            row.skip(
                "was not uncached", f"it was given {cached or moved.l0 + moved.loaded:g} tokens, so it is no control"
            )

    def _time_for(self, requests: int) -> bool:
        """Whether so many more requests as long as the longest are likely to end before the deadline."""
        return self.deadline.remaining() > requests * self._longest

    def _switch(self, tier: str) -> str:
        return f"models.{self.model.name}.cache.{tier}.enabled is false"

    def _step(
        self,
        tier: str,
        target: Target,
        enough: Callable[[Counters], bool],
        extra: Mapping[str, Any] | None = None,
    ) -> Row:
        """One request with the counters around it."""
        self._say(f"{self.model.name}: {tier} on Pod {target.pod.name} ({len(self.ids)} prompt tokens)")
        if self._last not in (None, target):
            self.deadline.sleep(max(0.0, self._last_at + SPIN_SECONDS - self.deadline.elapsed()))
        began = self.deadline.elapsed()
        with _step_of(target, f"the request for tier {tier}"):
            told = target.tells_tiers()
            late = self.model.in_process and tier == L1 and told
            if late:
                # What the request before read from L2 must not be taken for this one's.
                self.deadline.sleep(LAG_SECONDS)
            before = target.counters()
            answer = target.engine.complete(self.ids, MAX_TOKENS, extra)
            self._answered(target)
            moved = self._settled(target, before, enough)
            if late:
                self.deadline.sleep(LAG_SECONDS)
                moved = target.counters().since(before)
        self._longest = max(self._longest, self.deadline.elapsed() - began)
        row = _row(tier, target)
        row.ttft_ms, row.answer, row.counters = answer.ttft_ms, answer, moved
        row.busy = moved.prompt > len(self.ids)
        row.note = BUSY if row.busy else ""
        if self.model.in_process:
            row.lmcache = _whence(tier, moved, told)
        self.result.rows.append(row)
        return row

    def _answered(self, target: Target) -> None:
        self._last, self._last_at = target, self.deadline.elapsed()

    def _settled(self, target: Target, before: Counters, enough: Callable[[Counters], bool]) -> Counters:
        """What moved since ``before``, once it shows the request and ``enough``, or after SETTLE_SECONDS."""
        wait = self.deadline.within(SETTLE_SECONDS)
        return settled(target.counters, before, len(self.ids), enough, wait=wait, poll=POLL_SECONDS)

    def _wait_stored(self, start: Counters) -> None:
        """Wait until the first Pod has written all full chunks to L2; it does so after its answer."""
        self._say(
            f"{self.model.name}: waiting until Pod {self.first.pod.name} has stored {self.want_chunks} chunks in L2"
        )
        if not self.first.tells_tiers():
            self._wait_files()
            return
        wait = self.deadline.within(STORE_SECONDS)
        moved_at = wait.elapsed()
        while True:
            moved = self.first.counters().since(start)
            if moved.went_back():
                raise Restarted(RESTARTED)
            if moved.stored_chunks != self.stored_chunks:
                self.stored_chunks, moved_at = moved.stored_chunks, wait.elapsed()
            # Several ranks store each their part of a chunk, or one of them all of it.
            whole = moved.stored_chunks >= self.want_chunks * self.model.ranks
            rests = wait.elapsed() - moved_at >= (LAG_SECONDS if self.model.in_process else REST_SECONDS)
            if whole or (moved.stored_chunks >= self.want_chunks and rests) or wait.passed():
                return
            wait.sleep(POLL_SECONDS)

    def _wait_files(self) -> None:
        """As above for an LMCache without a counter of what it stored: the volume tells, or time must do."""
        if self._files_before is None:
            self.deadline.sleep(BLIND_SECONDS)
            return
        wait = self.deadline.within(STORE_SECONDS)
        while True:
            new = self.new_files
            if new is not None:
                self.stored_chunks = new // self.model.ranks
            if (new is not None and new >= self.want_chunks * self.model.ranks) or wait.passed():
                return
            wait.sleep(POLL_SECONDS)


def _row(tier: str, target: Target) -> Row:
    return Row(tier, target.pod.name, target.pod.node)


def _whence(tier: str, moved: Counters, told: bool) -> str:
    """Which tier gave the tokens that vLLM took from an LMCache inside its process."""
    if tier == L2:
        return "l2"  # The prompt is new to this Pod: its own memory cannot have it.
    if tier == L1 and told and not moved.remote_reads:
        return "l1"
    return "either"


def block_size(target: Target) -> int | None:
    """vLLM's block size in tokens, from its metrics; None when it does not say."""
    text = target.engine.metrics().label(VLLM_CACHE_CONFIG, "block_size")
    return int(text) if text and text.isdigit() and int(text) > 0 else None
