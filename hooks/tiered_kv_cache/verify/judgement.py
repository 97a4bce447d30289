"""What the rules that judge a model's rows share: the facts, how a verdict is given, and commands for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import names
from ..findings import Finding
from ..metrics import Counters, full_chunks
from .config import ModelSpec, Settings
from .result import FAIL, PASS, WARN, ModelResult, Row


@dataclass(frozen=True)
class Evidence:
    """What is known besides the rows.

    ``stored_chunks``: moved on the first Pod after the cold request, None when nothing tells. ``new_files``: chunk
    files that appeared in the L2 root as this Pod sees it, None when it cannot look. ``block_size``: vLLM's, in tokens,
    None when unknown. ``root``: the L2 root.
    """

    stored_chunks: float | None
    new_files: int | None
    block_size: int | None
    namespace: str = ""
    root: str = ""


@dataclass(frozen=True)
class Judgement:
    """A model, what was measured of it, and what is known besides."""

    model: ModelSpec
    settings: Settings
    result: ModelResult
    evidence: Evidence

    @property
    def chunks(self) -> int:
        """Whole chunks of the prompt: those that LMCache can give."""
        return full_chunks(self.settings.prompt_tokens, self.model.chunk_size)

    @property
    def want(self) -> int:
        """Tokens in these chunks."""
        return self.chunks * self.model.chunk_size

    def given(self, row: Row) -> float:
        """Tokens that this very request certainly took from a cache, whatever else ran on the Pod."""
        return given(row, self.settings.prompt_tokens)

    def fail(self, row: Row, why: str, what: str, fix: str, commands: Sequence[str] = ()) -> None:
        """Something is broken: the row fails, and ``what`` and ``fix`` become a finding."""
        if row.verdict != FAIL:
            row.verdict, row.why = FAIL, why
        self.result.findings.append(Finding(f"model {self.model.name}: {what}", fix, tuple(commands)))

    def warn(self, row: Row, why: str, what: str, fix: str, commands: Sequence[str] = ()) -> None:
        """Something a person should read."""
        if row.verdict == PASS:
            row.verdict, row.why = WARN, why
        self.result.warnings.append(Finding(f"model {self.model.name}: {what}", fix, tuple(commands)))

    def logs(self, row: Row, container: str | None = None, grep: str = "") -> str:
        """Command for the log of the row's Pod: of the container that runs LMCache, or of another."""
        name = container or (names.CONTAINER_VLLM if self.model.in_process else names.CONTAINER_LMCACHE)
        if grep:
            return f"kubectl logs -n {self.evidence.namespace} {row.pod} -c {name} | grep -i {grep!r}"
        return f"kubectl logs -n {self.evidence.namespace} {row.pod} -c {name} --tail=50"

    def look(self, row: Row, command: str) -> str:
        """Command that runs ``command`` where the row's Pod sees the L2 volume."""
        container = names.CONTAINER_VLLM if self.model.in_process else names.CONTAINER_LMCACHE
        return f"kubectl exec -n {self.evidence.namespace} {row.pod} -c {container} -- {command}"

    def restart(self) -> tuple[str, ...]:
        """Command that restarts the model's Pods one after the other."""
        return (f"kubectl rollout restart -n {self.evidence.namespace} deployment/{self.model.deployment}",)


def given(row: Row, prompt_tokens: int) -> float:
    """Tokens that this very request certainly took from a cache, whatever else ran on the Pod."""
    moved = row.counters or Counters()
    if row.answer and row.answer.cached_tokens is not None:
        return row.answer.cached_tokens
    if not row.busy:
        return moved.l0 + moved.loaded
    # All requests together computed so little that this one cannot have computed the rest.
    return max(0.0, prompt_tokens - moved.computed)


def found(model: ModelSpec, row: Row) -> float:
    """Tokens that an L2 row's Pod took from L2: by LMCache's own counter, or by vLLM's where it has none."""
    moved = row.counters or Counters()
    return moved.loaded if model.in_process else moved.l2
